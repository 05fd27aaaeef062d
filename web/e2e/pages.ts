/** Every page of the application, for the tests that visit all of them. */
import { expect, type Page } from "@playwright/test";
import { SCENES } from "./demo";

/** Pages that also exist without any review. */
export const EMPTY_PAGES: Record<string, string> = {
  inbox: "/",
  start: "/start",
  reviews: "/r",
  settings: "/settings",
  "api-docs": "/api-docs?op=get_review_status",
  activity: "/log",
  stats: "/stats",
  issues: "/i",
  search: "/search",
  "search-nothing": "/search?q=nothing",
  reviewers: "/pool",
  "unknown-log": "/pool/codex-r99",
  actors: "/actors",
  preferences: "/preferences",
  "sign-in": "/sign-in",
  "unknown-review": "/r/R-99",
  "not-found": "/nowhere",
};

/** Pages of a broker with reviews. */
export const FULL_PAGES: Record<string, string> = {
  inbox: "/",
  start: "/start",
  reviews: "/r",
  settings: "/settings?changed=true",
  activity: "/log",
  audit: "/log?view=audit",
  "audit-event": "/log?view=audit&seq=9",
  stats: "/stats?period=7d",
  issues: "/i?reviews=all&status=any&severity=critical,high,medium,low",
  "issues-by-file": "/i?reviews=all&status=any&group=file",
  search: "/search?q=the",
  reviewers: "/pool",
  actors: "/actors",
  preferences: "/preferences",
  "review-replay": `/r/${SCENES.inDiscussion}?at=4`,
  ...Object.fromEntries(Object.entries(SCENES).map(([scene, number]) => [`review-${scene}`, `/r/${number}`])),
};

/** Opens a page and waits until it shows what it has loaded. */
export async function open(page: Page, address: string) {
  await page.goto(address);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  // Diffs, their colours and lists arrive after the heading.
  await page.waitForLoadState("networkidle");
}
