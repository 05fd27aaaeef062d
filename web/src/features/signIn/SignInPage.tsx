import { Link, useLocation } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { isCode } from "../../api/client";
import { cliLines } from "../../cliLines";
import { useMe } from "../../me";
import { CliLine } from "../../ui/CliLine";
import { Refusal } from "../../ui/Failure";
import { Fold } from "../../ui/Fold";
import { Page } from "../../ui/Page";
import { type Fragment, parseFragment } from "./fragment";
import { useSignIn } from "./session";
import { TokenForm } from "./TokenForm";

/** Signs the browser in: by the link of `countersign open`, or by a token. */
export function SignInPage() {
  const { code, next } = useFragment();
  const { whoami } = useMe();
  const signIn = useSignIn(next);
  const { mutate } = signIn;
  useEffect(() => {
    if (code !== null && isUnused(code)) mutate({ code });
  }, [code, mutate]);
  const isByCode = signIn.variables !== undefined && "code" in signIn.variables;
  const isFree = whoami !== null && !whoami.token_required;
  return (
    <div className="mx-auto mt-8 w-full max-w-xl md:mt-24 md:rounded md:border md:border-line">
      <Page title="Sign in to Countersign">
        {isByCode && signIn.isPending && <p role="status">Signing in…</p>}
        {isByCode && signIn.isError && <CodeRefused error={signIn.error} />}
        {isFree ? (
          <p>
            This broker asks for no token. <Link to="/">Go to the inbox</Link>.
          </p>
        ) : (
          <>
            <HowToOpen />
            <Fold title="Paste a token instead">
              <TokenForm
                isSending={signIn.isPending && !isByCode}
                error={isByCode ? null : signIn.error}
                onSend={(token) => mutate({ token })}
              />
            </Fold>
          </>
        )}
      </Page>
    </div>
  );
}

function HowToOpen() {
  return (
    <>
      <p>This broker answers only to those who hold a token. On the machine where you have one, run</p>
      <p>
        <CliLine line={cliLines.open()} />
      </p>
      <p className="text-dim">
        It opens this page with a code that is valid once, for half a minute. This browser then stays signed in until
        you sign out, the session ends or the token is revoked.
      </p>
    </>
  );
}

function CodeRefused({ error }: { error: unknown }) {
  if (!isCode(error, "unknown_code")) return <Refusal error={error} />;
  return (
    <div role="alert" className="rounded bg-bad-bg px-3 py-2 text-bad">
      This link was used already, or it is older than half a minute. Run the command again.
    </div>
  );
}

/** Reads the fragment and removes it from the address at once, so that it stays neither on screen nor in the history. */
function useFragment(): Fragment {
  const hash = useLocation({ select: (location) => location.hash });
  const [fragment, setFragment] = useState(() => parseFragment(hash));
  useEffect(() => {
    if (hash === "") return;
    setFragment(parseFragment(hash));
    window.history.replaceState(window.history.state, "", window.location.pathname);
  }, [hash]);
  return fragment;
}

const used = new Set<string>();

/** A code is valid once, and React runs effects twice during development. */
function isUnused(code: string): boolean {
  const isNew = !used.has(code);
  used.add(code);
  return isNew;
}
