/** The pages that the navigation leads to, in its order. Links, keys and palette read this table. */
import type { ActionId } from "./keys/bindings";

interface Destination {
  to: string;
  label: string;
  /** The key that leads there. */
  action: ActionId;
  /** Groups stand apart: the work on reviews, then the operation of the broker. */
  group: "reviews" | "broker";
  /** Whether a narrow screen shows the link in its bar. The others are behind "More". */
  isFirst?: boolean;
}

export const destinations = [
  { to: "/", label: "Inbox", action: "goInbox", group: "reviews", isFirst: true },
  { to: "/r", label: "Reviews", action: "goReviews", group: "reviews", isFirst: true },
  { to: "/i", label: "Issues", action: "goIssues", group: "reviews" },
  { to: "/pool", label: "Reviewers", action: "goPool", group: "broker" },
  { to: "/log", label: "Activity", action: "goLog", group: "broker" },
  { to: "/stats", label: "Stats", action: "goStats", group: "broker" },
  { to: "/actors", label: "Actors", action: "goActors", group: "broker" },
  { to: "/settings", label: "Settings", action: "goSettings", group: "broker" },
  { to: "/api-docs", label: "API", action: "goApiDocs", group: "broker" },
  { to: "/start", label: "Start", action: "goStart", group: "broker" },
] as const satisfies readonly Destination[];

export type DestinationLink = (typeof destinations)[number];
