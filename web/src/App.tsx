import { Link, Outlet, useLocation, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Announcer } from "./Announcer";
import { useNeedsMe } from "./features/inbox/queries";
import { HelpSheet } from "./keys/HelpSheet";
import { useKeys } from "./keys/KeysContext";
import { Palette } from "./keys/Palette";
import { useLive, useLiveSocket } from "./live/LiveContext";
import { LiveDot } from "./live/LiveDot";
import { useMe } from "./me";
import { TopBanners } from "./TopBanners";
import { Name } from "./text/UserText";
import { useThemeAttribute } from "./theme";

/** The frame around every page: navigation, banners about the broker, help and palette. */
export function App() {
  useThemeAttribute();
  const [sheet, setSheet] = useState<"help" | "palette" | null>(null);
  const socket = useLiveSocket();
  const { isPaused } = useLive();
  const navigate = useNavigate();
  useKeys({
    help: () => setSheet("help"),
    palette: () => setSheet((open) => (open === "palette" ? null : "palette")),
    goInbox: () => void navigate({ to: "/" }),
    goReviews: () => void navigate({ to: "/r" }),
    goStart: () => void navigate({ to: "/start" }),
    goPreferences: () => void navigate({ to: "/preferences" }),
    pause: () => socket.setPaused(!isPaused),
  });
  const isSigningIn = useLocation().pathname === "/sign-in";
  return (
    <div className="flex min-h-dvh flex-col md:flex-row">
      <a href="#main" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-bg focus:p-2">
        Skip to the content
      </a>
      {!isSigningIn && <Navigation onHelp={() => setSheet("help")} onPalette={() => setSheet("palette")} />}
      <div className="flex min-w-0 flex-1 flex-col">
        <TopBanners />
        <main id="main" className="min-w-0 flex-1">
          <Outlet />
        </main>
      </div>
      <Announcer />
      <HelpSheet isOpen={sheet === "help"} onClose={() => setSheet(null)} />
      <Palette isOpen={sheet === "palette"} onClose={() => setSheet(null)} />
    </div>
  );
}

function Navigation({ onHelp, onPalette }: { onHelp: () => void; onPalette: () => void }) {
  const me = useMe();
  const needsMe = useNeedsMe().count;
  const item =
    "flex items-center justify-between gap-2 rounded px-3 py-1 text-text no-underline hover:bg-hover hover:no-underline";
  const activeProps = { className: "bg-accent-bg font-semibold", "aria-current": "page" } as const;
  return (
    <nav
      aria-label="Main"
      className="sticky top-0 z-30 flex items-center gap-1 border-b border-line bg-raised px-2 py-1 md:h-dvh md:w-44 md:shrink-0 md:flex-col md:items-stretch md:border-r md:border-b-0 md:py-3"
    >
      <Link to="/" className="px-3 py-1 font-semibold text-text no-underline max-md:sr-only">
        Countersign
      </Link>
      <Link to="/" className={item} activeProps={activeProps} activeOptions={{ exact: true }}>
        Inbox
        {needsMe > 0 && (
          <span className="rounded-full bg-accent px-2 text-xs text-on-accent">
            {needsMe}
            <span className="sr-only"> need you</span>
          </span>
        )}
      </Link>
      <Link to="/r" className={item} activeProps={activeProps}>
        Reviews
      </Link>
      <Link to="/start" className={`${item} max-md:hidden`} activeProps={activeProps}>
        Start
      </Link>
      <div className="grow" />
      <LiveDot />
      <button type="button" onClick={onPalette} className={`${item} text-left text-dim max-md:hidden`}>
        Palette
      </button>
      <button type="button" onClick={onHelp} className={`${item} text-left text-dim max-md:hidden`}>
        Keys
      </button>
      <Link to="/preferences" className={`${item} text-dim`} activeProps={activeProps} aria-label="Preferences">
        <Name className="truncate">{me.name}</Name>
      </Link>
    </nav>
  );
}
