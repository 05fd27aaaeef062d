import { Outlet, useLocation } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { Announcer } from "./Announcer";
import { useKeys } from "./keys/KeysContext";
import { useLive, useLiveSocket } from "./live/LiveContext";
import { Navigation, useDestinationKeys } from "./Navigation";
import { TopBanners } from "./TopBanners";
import { useThemeAttribute } from "./theme";

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
  useDestinationKeys();
  useKeys({
    help: () => setSheet("help"),
    palette: () => setSheet((open) => (open === "palette" ? null : "palette")),
    pause: () => socket.setPaused(!isPaused),
  });
  const isSigningIn = useLocation().pathname === "/sign-in";
  return (
    <div className="flex min-h-dvh flex-col md:flex-row">
      <a href="#main" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-bg focus:p-2">
        Skip to the content
      </a>
      {!isSigningIn && (
        <Navigation onHelp={() => setSheet("help")} onPalette={() => setSheet("palette")} onNear={preload} />
      )}
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
