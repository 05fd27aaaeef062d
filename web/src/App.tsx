import { Link, Outlet, useLocation, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { Announcer } from "./Announcer";
import logo from "./favicon.svg";
import { useNeedsMe } from "./features/inbox/queries";
import { keyOf } from "./keys/bindings";
import { useKeys } from "./keys/KeysContext";
import { useLive, useLiveSocket } from "./live/LiveContext";
import { LiveDot } from "./live/LiveDot";
import { useMe } from "./me";
import { TopBanners } from "./TopBanners";
import { Name } from "./text/UserText";
import { useThemeAttribute } from "./theme";
import { KeyHint } from "./ui/KeyHint";
import { Press } from "./ui/Press";

// Large parts that most visits do not need.
const loadHelpSheet = () => import("./keys/HelpSheet").then(({ HelpSheet }) => ({ default: HelpSheet }));
const loadPalette = () => import("./keys/Palette").then(({ Palette }) => ({ default: Palette }));
const HelpSheet = lazy(loadHelpSheet);
const Palette = lazy(loadPalette);
/** Palette and help are loaded when the pointer, the focus or the first of their two keys comes near. */
const preload = () => void Promise.all([loadHelpSheet(), loadPalette()]).catch(() => {});

/** The frame around every page: navigation, banners about the broker, help and palette. */
export function App() {
  useThemeAttribute();
  const [sheet, setSheet] = useState<"help" | "palette" | null>(null);
  const [wasSheetUsed, setSheetUsed] = useState(false);
  if (sheet !== null && !wasSheetUsed) setSheetUsed(true);
  useEffect(() => {
    const onKeyDown = ({ key }: KeyboardEvent) => {
      if (key === "Control" || key === "Meta" || key === "Shift") preload();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
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
      {wasSheetUsed && (
        <Suspense fallback={null}>
          <HelpSheet isOpen={sheet === "help"} onClose={() => setSheet(null)} />
          <Palette isOpen={sheet === "palette"} onClose={() => setSheet(null)} />
        </Suspense>
      )}
    </div>
  );
}

const item = "flex items-center justify-between gap-2 rounded px-3 py-1 no-underline hover:bg-hover hover:no-underline";
const activeProps = { className: "bg-accent-bg font-semibold", "aria-current": "page" } as const;

function Navigation({ onHelp, onPalette }: { onHelp: () => void; onPalette: () => void }) {
  const me = useMe();
  const needsMe = useNeedsMe().count;
  const page = `${item} text-text`;
  const tool = `${item} text-left text-dim hover:text-text`;
  return (
    <nav
      aria-label="Main"
      className="sticky top-0 z-30 flex items-center gap-1 border-b border-line bg-raised px-2 py-1 md:h-dvh md:w-44 md:shrink-0 md:flex-col md:items-stretch md:border-r md:border-b-0 md:py-3"
    >
      <Link
        to="/"
        className="flex items-center gap-2 px-3 pt-1 pb-3 font-semibold text-text no-underline hover:no-underline max-md:sr-only"
      >
        <img src={logo} alt="" className="size-5" />
        Countersign
      </Link>
      <Link to="/" className={page} activeProps={activeProps} activeOptions={{ exact: true }}>
        Inbox
        {needsMe !== null && (
          <span className="rounded-full bg-accent px-2 text-xs font-semibold text-on-accent">
            {needsMe}
            <span className="sr-only"> need you</span>
          </span>
        )}
      </Link>
      <Link to="/r" className={page} activeProps={activeProps}>
        Reviews
      </Link>
      <Link to="/start" className={`${page} max-md:hidden`} activeProps={activeProps}>
        Start
      </Link>
      <div className="grow" />
      <LiveDot />
      <Press onPress={onPalette} onPointerEnter={preload} onFocus={preload} className={`${tool} max-md:hidden`}>
        Search <KeyHint keys={keyOf("palette")} />
      </Press>
      <Press onPress={onHelp} onPointerEnter={preload} onFocus={preload} className={`${tool} max-md:hidden`}>
        Keys <KeyHint keys={keyOf("help")} />
      </Press>
      <Link to="/preferences" className={`${tool} min-w-0 max-md:max-w-32`} activeProps={activeProps}>
        <Name className="truncate">{me.name}</Name>
        <span className="sr-only">: preferences</span>
        <span aria-hidden="true">⚙</span>
      </Link>
    </nav>
  );
}
