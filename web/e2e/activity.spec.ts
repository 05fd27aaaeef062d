/** Activity and Audit: what happened, live, by filters, as links and as a file. */
import { readFileSync } from "node:fs";
import type { Locator, Page } from "@playwright/test";
import type { Broker } from "./broker";
import { expect, test } from "./fixtures";

const rows = (page: Page): Locator => page.getByRole("table").locator("[data-row]");
const row = (page: Page, text: string | RegExp): Locator => page.getByRole("button", { name: text, expanded: false });

/** A review with a claim, a verdict with an issue, and a dispute of it. */
async function disputed(broker: Broker): Promise<string> {
  const [builder, ada] = [broker.agent("builder"), broker.agent("ada")];
  const review = await builder.propose("Cache prices");
  await ada.claim(review);
  await ada.requestChanges(review, "The cache is never cleared.", [{ severity: "high", type: "bug", title: "Stale" }]);
  const { issues } = await broker.call("list_issues", { review_id: review });
  const issue_id = issues[0]?.issue_id ?? "";
  const note = "Prices never change.";
  await broker.call("update_issue", { review_id: review, issue_id, status: "disputed", role: "proposer", note });
  return review;
}

test("the log follows what happens, but does not move under a reader", async ({ broker, page }) => {
  const builder = broker.agent("builder");
  await builder.propose("Change 1");
  await page.goto(broker.url("/log"));
  await expect(row(page, /builder proposed R-1/)).toBeVisible();
  await builder.propose("Change 2");
  await expect(rows(page).first()).toContainText("builder proposed R-2");

  // Paused: the event is counted and not shown.
  await page.keyboard.press("w");
  await builder.propose("Change 3");
  await expect(page.getByRole("navigation")).toContainText(/1 (new|event)/);
  await expect(rows(page).first()).toContainText("R-2");
  await page.keyboard.press("w");
  await expect(rows(page).first()).toContainText("R-3");

  // The focus is in a row: new events are announced above the list.
  await page.keyboard.press("j");
  await expect(rows(page).first()).toBeFocused();
  await builder.propose("Change 4");
  await builder.propose("Change 5");
  const pill = page.getByRole("button", { name: "2 new · show" });
  await expect(pill).toBeVisible();
  await expect(rows(page).first()).toContainText("R-3");
  await pill.press("Enter");
  await expect(rows(page).first()).toContainText("R-5");
});

test("further down the list, new events are announced", async ({ broker, page }) => {
  const builder = broker.agent("builder");
  for (let n = 1; n <= 40; n++) await builder.propose(`Change ${n}`);
  await page.goto(broker.url("/log"));
  await expect(row(page, /proposed R-40/)).toBeVisible();
  await page.mouse.wheel(0, 900);
  await expect(row(page, /proposed R-10\b/)).toBeVisible();
  await builder.propose("Change 41");
  await page.getByRole("button", { name: "1 new · show" }).click();
  await expect(rows(page).first()).toContainText("R-41");
});

test("filters by keyboard stand in the address, and a row opens to its facts", async ({ broker, page }) => {
  const review = await disputed(broker);
  await broker.agent("builder").propose("Another change");
  await page.goto(broker.url("/log"));
  await expect(row(page, /ada requested changes/)).toBeVisible();
  await page.keyboard.press("/");
  const actor = page.getByRole("combobox", { name: "Actor" });
  await actor.focus();
  await page.keyboard.type("ada");
  // Past the other texts to the kinds.
  for (let n = 0; n < 5; n++) await page.keyboard.press("Tab");
  await expect(page.getByRole("checkbox", { name: "proposed" })).toBeFocused();
  await expect(page).toHaveURL(/actor=ada/);
  await page.getByRole("checkbox", { name: "verdict given" }).press("Space");
  await expect(page).toHaveURL(/kind=verdict_given/);
  await page.keyboard.press("Escape");
  await expect(rows(page)).toHaveCount(1);

  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  const facts = page.getByRole("cell").filter({ hasText: "claim generation" });
  await expect(facts).toContainText("The cache is never cleared.");
  await facts.getByRole("link", { name: `Only ${review}` }).press("Enter");
  await expect(page).toHaveURL(new RegExp(`review=${review}`));
  await page.getByRole("button", { name: /Remove the filter Actor/ }).click();
  await page.getByRole("button", { name: /Remove the filter Kind/ }).click();
  await expect(row(page, /claimed/)).toBeVisible();
  await expect(row(page, /Another change/)).toHaveCount(0);
  await page.reload();
  await expect(row(page, /claimed/)).toBeVisible();
});

test("a filter that the broker refuses says what is allowed", async ({ broker, page, faults }) => {
  faults.expect(/status of 422/);
  await page.goto(broker.url("/log?since=yesterday"));
  await expect(page.getByRole("alert")).toContainText(/RFC 3339.*7d/);
  await page.getByRole("button", { name: /Remove the filter Since/ }).click();
  await expect(page.getByText("Nothing has happened yet.")).toBeVisible();
});

test("the audit log has every event, and a link leads to one of them", async ({ broker, page }) => {
  await disputed(broker);
  await page.goto(broker.url("/log"));
  await page.getByRole("button", { name: "Audit log" }).click();
  await expect(page).toHaveURL(/view=audit/);
  await row(page, /asked to set I-1 .* to disputed/).click();
  await page.getByRole("link", { name: /Link to event/ }).click();
  await expect(page).toHaveURL(/seq=\d+/);
  const opened = page.getByRole("button", { name: /to disputed/, expanded: true });
  await expect(page.getByRole("note")).toContainText("begins with event");
  await expect(opened).toBeVisible();
  await page.reload();
  await expect(page.getByRole("note")).toContainText("begins with event");
  await expect(opened).toBeVisible();
  await expect(page.getByText("Prices never change.").last()).toBeVisible();
  await page.getByRole("link", { name: "Go to the newest events" }).click();
  await expect(page).not.toHaveURL(/seq=/);

  // From an event to its review.
  await page.getByRole("table").getByRole("link", { name: "R-1" }).first().click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Cache prices");
});

test("the log under the filters is a file", async ({ broker, page }) => {
  await disputed(broker);
  await broker.agent("builder").propose("Another change");
  await page.goto(broker.url("/log?review=R-1"));
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Download JSONL" }).click(),
  ]);
  const lines = readFileSync(await download.path(), "utf8")
    .trim()
    .split("\n");
  const exported = lines.map((line) => JSON.parse(line) as { seq: number });
  const { events } = await broker.call("get_audit_log", { review_id: "R-1" });
  expect(exported).toEqual(events);
  expect(download.suggestedFilename()).toMatch(/\.jsonl$/);
});

test("an empty log, and filters without a match", async ({ broker, page }) => {
  await page.goto(broker.url("/log"));
  await expect(page.getByText("Nothing has happened yet.")).toBeVisible();
  await broker.agent("builder").propose("A change");
  await expect(row(page, /builder proposed R-1/)).toBeVisible();
  await page.goto(broker.url("/log?actor=nobody-here"));
  await expect(page.getByText("No event matches these filters.")).toBeVisible();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await expect(row(page, /builder proposed R-1/)).toBeVisible();
});
