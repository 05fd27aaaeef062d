/** The time slider: a review as it was after each of its events. */

import type { Broker } from "./broker";
import { expect, test } from "./fixtures";
import { PRICE } from "./repository";
import { ReviewView } from "./reviewView";

const FIRST = `${PRICE}pub fn none() -> u32 { 0 }\n`;
const SECOND = `${PRICE}pub fn nothing() -> u32 { 0 }\n`;

/** Events: 1 proposed, 2 claimed, 3 changes requested with a finding, 4 round 2, 5 claimed, 6 approved. */
async function twoRounds(broker: Broker): Promise<string> {
  const builder = broker.agent("builder");
  const codex = broker.agent("codex");
  const review = await builder.propose("Add none", { diff: broker.repository.diff({ "src/price.rs": FIRST }) });
  await codex.claim(review);
  const issue = { severity: "high", title: "Say nothing", file: "src/price.rs", line_start: 5 } as const;
  await codex.requestChanges(review, "Another name, please.", [issue]);
  await builder.revise(review, "Add nothing", { diff: broker.repository.diff({ "src/price.rs": SECOND }) });
  await codex.claim(review);
  await codex.approve(review);
  return review;
}

test("a person steps through the history by keyboard and comes back", async ({ broker, page }) => {
  const review = await twoRounds(broker);
  const view = await ReviewView.open(page, broker, review);
  await expect(view.line("pub fn nothing()")).toBeVisible();
  const replay = page.getByRole("region", { name: "Replay" });
  const moment = replay.getByRole("status", { name: "Moment" });

  await page.keyboard.press("h");
  await expect(moment).toContainText("event 6 of 6: codex voted approved");
  await page.keyboard.press("ArrowLeft");
  await expect(moment).toContainText("event 5 of 6: codex took the seat general");
  await view.expectStatus("claimed");
  await expect(view.action("Approve")).toHaveCount(0);

  await page.keyboard.press("Home");
  await expect(moment).toContainText("event 1 of 6: builder proposed it");
  await view.expectStatus("pending");
  await expect(view.line("pub fn none()")).toBeVisible();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(`${review} Add none`);
  await expect(view.finding("I-1")).toHaveCount(0);

  await page.keyboard.press("ArrowRight");
  await expect(moment).toContainText("event 2 of 6");
  await page.keyboard.press("ArrowRight");
  await expect(moment).toContainText("event 3 of 6: codex voted changes requested for general");
  await view.expectStatus("changes requested");
  await expect(view.finding("I-1").first()).toContainText("Say nothing");
  await expect(page).toHaveURL(/at=3/);

  // The address leads a colleague to the same moment.
  await page.reload();
  await expect(moment).toContainText("event 3 of 6");
  await view.expectStatus("changes requested");
  await page.keyboard.press("End");
  await expect(moment).toContainText("event 6 of 6");
  await page.keyboard.press("Escape");
  await expect(replay).toHaveCount(0);
  await view.expectStatus("approved");
  await expect(page).not.toHaveURL(/at=/);
});

test("at every event the page shows what the broker says about it, and new events do not disturb it", async ({
  broker,
  page,
}) => {
  const review = await twoRounds(broker);
  const view = await ReviewView.open(page, broker, review, "?at=3");
  const slider = page.getByRole("slider", { name: "Event" });
  const moment = page.getByRole("status", { name: "Moment" });
  for (let at = 1; at <= 6; at += 1) {
    await slider.fill(String(at));
    await expect(moment).toContainText(`event ${at} of 6`);
    const then = await broker.call("get_review_status", { review_id: review, at });
    await view.expectStatus(then.status.replaceAll("_", " "));
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(`${review} ${then.intent}`);
    await expect(page).toHaveURL(new RegExp(`at=${at}`));
  }
  await slider.fill("2");
  await expect(moment).toContainText("event 2 of 6");
  await view.expectStatus("claimed");
  await broker.agent("builder").close(review);
  // The slider is longer, and the page still shows the second event.
  await expect(moment).toContainText("event 2 of 7");
  await view.expectStatus("claimed");
  await expect(view.line("pub fn none()")).toBeVisible();
  await page.getByRole("button", { name: "Back to now" }).click();
  await view.expectStatus("closed");
});

test("by touch on a phone", async ({ broker, page }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  const review = await twoRounds(broker);
  const view = await ReviewView.open(page, broker, review);
  await page.getByRole("button", { name: "Replay" }).click();
  const moment = page.getByRole("status", { name: "Moment" });
  await page.getByRole("button", { name: "Previous event" }).click();
  await expect(moment).toContainText("event 5 of 6");
  await view.expectStatus("claimed");
  await page.getByRole("button", { name: "Event 5: back to now" }).click();
  await view.expectStatus("approved");
  await page.goBack();
  await view.expectStatus("claimed");
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBeLessThanOrEqual(360);
});

test("an event that the review does not have is refused in words", async ({ broker, page, faults }) => {
  faults.expect(/status of 422/);
  const review = await broker.agent("builder").propose("Add none");
  await page.goto(broker.url(`/r/${review}?at=99`));
  await expect(page.getByRole("alert")).toContainText(`${review} has the events 1 to 1`);
  await page.getByRole("link", { name: "Show the review as it is now" }).click();
  await expect(page.getByRole("heading", { level: 1, name: `${review} Add none` })).toBeVisible();
});
