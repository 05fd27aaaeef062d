import { useEffect, useSyncExternalStore } from "react";
import { isOneOf, useStored } from "./storage";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const isTheme = isOneOf(...THEMES);
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function subscribeToSystem(listener: () => void): () => void {
  systemIsDark.addEventListener("change", listener);
  return () => systemIsDark.removeEventListener("change", listener);
}

/** The chosen theme, and the one in force. public/assets/firstTheme.js sets it before the first paint. */
export function useTheme(): { theme: Theme; setTheme: (theme: Theme) => void; shown: "light" | "dark" } {
  const [theme, setTheme] = useStored<Theme>("theme", isTheme, "system");
  const isDark = useSyncExternalStore(subscribeToSystem, () => systemIsDark.matches);
  return { theme, setTheme, shown: theme === "system" ? (isDark ? "dark" : "light") : theme };
}

/** Keeps the attribute that the style sheets read up to date. Call it once. */
export function useThemeAttribute(): void {
  const { shown } = useTheme();
  useEffect(() => {
    document.documentElement.dataset.theme = shown;
  }, [shown]);
}
