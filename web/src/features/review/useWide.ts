import { useSyncExternalStore } from "react";

/** Room for the diff and the conversation side by side. The same as Tailwind's `xl`. */
const wide = typeof matchMedia === "undefined" ? null : matchMedia("(min-width: 80rem)");

function subscribe(listener: () => void): () => void {
  wide?.addEventListener("change", listener);
  return () => wide?.removeEventListener("change", listener);
}

export function useIsWide(): boolean {
  return useSyncExternalStore(subscribe, () => wide?.matches === true);
}
