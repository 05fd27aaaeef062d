import { Link, useLocation } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { Attention } from "./Attention";
import { useLive } from "./live/LiveContext";
import { useMe } from "./me";
import { isBroken, troubleWords, usePool } from "./pool";
import { UserText } from "./text/UserText";
import { Banner } from "./ui/Banner";
import { Button } from "./ui/Button";
import { LastWords } from "./ui/PoolHelp";

/** What concerns every page: which broker answers, whether it answers, and whether its reviewers run. */
export function TopBanners() {
  const { pathname } = useLocation();
  const isSigningIn = pathname === "/sign-in";
  const section = usePublishedHeight();
  return (
    <section ref={section} aria-label="Notices" className="flex flex-col" data-print="hide">
      {!isSigningIn && <Attention />}
      <DemoBanner />
      <UpdatedBanner />
      <DatabaseBanner />
      {!isSigningIn && <ConnectionBanner />}
      {/* The inbox tells it as its first item, and the page of the reviewers says more. */}
      {!isSigningIn && pathname !== "/" && pathname !== "/pool" && <PoolBanner />}
    </section>
  );
}

/** Publishes the height as `--banners`, so that a page as high as the window leaves room for them. */
function usePublishedHeight() {
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    const element = section.current;
    if (element === null) return;
    const publish = () => document.documentElement.style.setProperty("--banners", `${element.offsetHeight}px`);
    const observer = new ResizeObserver(publish);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return section;
}

function DemoBanner() {
  const { whoami } = useMe();
  if (whoami?.demo !== true) return null;
  return (
    <Banner tone="info" title="This is the demo.">
      Scripted agents review a temporary repository. Nothing is kept when the demo ends.
    </Banner>
  );
}

function UpdatedBanner() {
  const { isOutdated } = useLive();
  if (!isOutdated) return null;
  return (
    <Banner
      tone="info"
      title="Countersign was updated."
      actions={
        <Button kind="primary" onPress={() => location.reload()}>
          Reload
        </Button>
      }
    >
      This page is older than the broker. Drafts are kept.
    </Banner>
  );
}

function DatabaseBanner() {
  const { isOtherDatabase, databaseId } = useLive();
  const [seen, setSeen] = useState<string | null>(null);
  if (!isOtherDatabase || seen === databaseId) return null;
  return (
    <Banner
      tone="warn"
      title="Another database answers on this address."
      actions={<Button onPress={() => setSeen(databaseId)}>Understood</Button>}
    >
      A broker with other reviews took the place of the one that this page was opened from. Numbers such as R-12 may
      mean other reviews now.
    </Banner>
  );
}

/** A short interruption, such as a restart, is not worth a banner. */
const MIN_FAILURES = 2;

function ConnectionBanner() {
  const { state, failures } = useLive();
  if (state === "signed_out") {
    return (
      <Banner tone="warn" title="You are signed out.">
        <Link to="/sign-in">Sign in again</Link> to see changes. Drafts are kept.
      </Banner>
    );
  }
  if (state !== "offline" || failures < MIN_FAILURES) return null;
  return (
    <Banner tone="warn" title="The broker does not answer.">
      What you see may be old. The page connects again by itself; forms stay as they are.
    </Banner>
  );
}

function PoolBanner() {
  const pool = usePool();
  const trouble = troubleWords(pool);
  if (pool === null || trouble === null) return null;
  return (
    <Banner tone={isBroken(pool) ? "bad" : "warn"} title={`${trouble}.`}>
      {pool.message !== undefined && <UserText text={pool.message} />}
      <LastWords lines={pool.last_words ?? []} />
    </Banner>
  );
}
