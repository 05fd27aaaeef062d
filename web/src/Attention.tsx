import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { setTitleCount } from "./documentTitle";
import faviconDot from "./faviconDot.svg";
import { useNeedsMe } from "./features/inbox/queries";
import { notify, useNotificationsPreference } from "./notifications";
import { useNewTurns } from "./useNewTurns";

/** Tells of reviews that need the person outside the page: title, icon of the tab, notifications. */
export function Attention() {
  const { count } = useNeedsMe();
  const [areNotificationsOn] = useNotificationsPreference();
  const navigate = useNavigate();
  useEffect(() => {
    setTitleCount(count);
    return () => setTitleCount(null);
  }, [count]);
  useFaviconDot(count !== null);
  useNewTurns((fresh) => {
    if (!areNotificationsOn) return;
    notify(fresh, (number) =>
      number === null ? void navigate({ to: "/" }) : void navigate({ to: "/r/$review", params: { review: number } }),
    );
  });
  return null;
}

let plain: string | null = null;

function useFaviconDot(hasDot: boolean): void {
  useEffect(() => {
    const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    if (link === null) return;
    plain ??= link.href;
    const without = plain;
    link.href = hasDot ? faviconDot : without;
    return () => {
      link.href = without;
    };
  }, [hasDot]);
}
