/** "Your turn" as a notification of the system, for those who asked for it. */
import { announcement, type NeedsMe } from "./announcement";
import { isBoolean, isStrings, read, useStored, write } from "./storage";
import { inertLine } from "./text/inert";

export type Support = "granted" | "denied" | "not_asked" | "insecure" | "unsupported";

interface Environment {
  isSecureContext: boolean;
  permission: NotificationPermission | null;
}

export function supportOf({ isSecureContext, permission }: Environment): Support {
  // Browsers hide or refuse notifications on plain http, except on this machine.
  if (!isSecureContext) return "insecure";
  if (permission === null) return "unsupported";
  return permission === "default" ? "not_asked" : permission;
}

export function support(): Support {
  const permission = "Notification" in globalThis ? Notification.permission : null;
  return supportOf({ isSecureContext: globalThis.isSecureContext, permission });
}

/** Why there are no notifications, or `null` if there can be. */
export const REASONS: Record<Support, string | null> = {
  granted: null,
  not_asked: null,
  denied: "This browser blocks notifications of this page. Allow them in its settings for this site.",
  insecure: "Browsers show notifications only over https or from this machine (127.0.0.1).",
  unsupported: "This browser has no notifications.",
};

export function useNotificationsPreference(): [boolean, (areOn: boolean) => void] {
  return useStored("notifications", isBoolean, false);
}

const MAX_KNOWN = 300;

/** The turns to notify of, and all that are known then. Other tabs share what is known. */
export function notNotified(known: readonly string[], fresh: readonly NeedsMe[]): { show: NeedsMe[]; known: string[] } {
  const before = new Set(known);
  const show = fresh.filter(({ key }) => !before.has(key));
  return { show, known: [...known, ...show.map(({ key }) => key)].slice(-MAX_KNOWN) };
}

/** Title and text of one notification for all of them. */
export function notificationText(show: readonly NeedsMe[]): { title: string; body: string } | null {
  const [first, second] = show;
  if (first === undefined) return null;
  if (second === undefined) {
    return { title: inertLine(`${first.number}: ${first.why}`, 100), body: inertLine(first.title, 200) };
  }
  return { title: announcement(show) ?? "", body: inertLine(show.map(({ title }) => title).join(" · "), 200) };
}

/** Shows what is new, unless the person looks at the page already. `onOpen` gets the number that was clicked. */
export function notify(fresh: readonly NeedsMe[], onOpen: (number: string | null) => void): void {
  const { show, known } = notNotified(read("notified", isStrings) ?? [], fresh);
  if (show.length === 0) return;
  write("notified", known);
  const text = notificationText(show);
  if (text === null || document.hasFocus() || support() !== "granted") return;
  try {
    // The tag joins the notifications of several tabs.
    const notification = new Notification(text.title, { body: text.body, tag: show[0]?.key ?? "countersign" });
    notification.onclick = () => {
      window.focus();
      notification.close();
      onOpen(show.length === 1 ? (show[0]?.number ?? null) : null);
    };
  } catch {
    // Some phones offer notifications only to installed pages.
  }
}
