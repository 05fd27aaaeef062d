/** Stats: figures of a period, charts, and a table for each chart. */
import type { Page } from "@playwright/test";
import type { Broker } from "./broker";
import { expect, test } from "./fixtures";

/** Approved by ada and bob, rejected by ada; the others are pending. */
async function reviews(broker: Broker, pending: number): Promise<void> {
  const [builder, ada, bob] = [broker.agent("builder"), broker.agent("ada"), broker.agent("bob")];
  const issues = [
    { severity: "critical", type: "bug", title: "Wrong price" },
    { severity: "low", type: "other", title: "A long name" },
  ] as const;
  for (const reviewer of [ada, bob]) {
    const review = await builder.propose(`Approved by ${reviewer.name}`);
    await reviewer.claim(review);
    await reviewer.approve(review);
  }
  const rejected = await builder.propose("Rejected");
  await ada.claim(rejected);
  await ada.vote(rejected, "rejected", { reason: "no", issues: [...issues] });
  for (let n = 0; n < pending; n++) await builder.propose(`Pending ${n}`);
}

const tile = (page: Page, label: string) =>
  page.locator("dl > div").filter({ has: page.getByText(label, { exact: true }) });

test("charts appear with the fifth review, live", async ({ broker, page }) => {
  await page.goto(broker.url("/stats"));
  await expect(page.getByText("No review in the last 30 days.")).toBeVisible();
  await reviews(broker, 1);
  await expect(page.getByText("Charts appear after 5 reviews.")).toBeVisible();
  await expect(page.getByText("There are 4 so far.")).toBeVisible();
  await broker.agent("builder").propose("The fifth");
  await expect(page.getByRole("heading", { name: "Reviews by outcome" })).toBeVisible();
});

test("a chart and its table show the same numbers", async ({ broker, page }) => {
  await reviews(broker, 3);
  await page.goto(broker.url("/stats?period=7d"));
  await expect(tile(page, "Reviews")).toContainText("6");
  await expect(tile(page, "Approval rate")).toContainText("67 %");
  // No reviewer reported a cost.
  await expect(tile(page, "Cost")).toContainText("—");
  await expect(tile(page, "Cost")).not.toContainText("$");

  const figure = page.getByRole("region", { name: "Reviews by outcome" });
  const slider = figure.getByRole("slider", { name: "Day of Reviews by outcome" });
  await expect(slider).toHaveAttribute("aria-valuetext", /approved 2, rejected 1, cancelled 0, not decided 3$/);
  await slider.press("ArrowLeft");
  await expect(slider).toHaveAttribute("aria-valuetext", /approved 0, rejected 0, cancelled 0, not decided 0$/);

  await figure.getByRole("button", { name: "Reviews by outcome as a table" }).press("Enter");
  const cells = figure.getByRole("row").nth(1).getByRole("cell");
  await expect(cells).toHaveText(["2", "1", "0", "3"]);
  await expect(figure.getByRole("row")).toHaveCount(8);

  // Every chart has its table.
  for (const button of await page.getByRole("button", { name: /as a table$/ }).all()) {
    if ((await button.getAttribute("aria-pressed")) === "false") await button.click();
  }
  await expect(page.getByRole("slider")).toHaveCount(0);
  const fates = page.getByRole("region", { name: "What became of issues" });
  await expect(fates.getByRole("row", { name: /critical/ }).getByRole("cell")).toHaveText(["0", "0", "0", "0", "1"]);
  await expect(page.getByRole("region", { name: "Cost", exact: true })).toContainText("—");
});

test("the work of reviewers, and their agreement with the outcome", async ({ broker, page }) => {
  await reviews(broker, 2);
  await page.goto(broker.url("/stats"));
  await page.getByRole("button", { name: "By reviewer" }).click();
  await expect(page).toHaveURL(/by=reviewer/);
  const ada = page.getByRole("row", { name: /^ada/ }).getByRole("cell");
  // Reviews, votes, approved, agrees, issues
  await expect(ada.nth(0)).toHaveText("2");
  await expect(ada.nth(2)).toHaveText("50 %");
  await expect(ada.nth(3)).toHaveText("100 %");
  await expect(ada.nth(4)).toHaveText("2");
  await page.reload();
  await expect(page.getByRole("row", { name: /^bob/ })).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("l");
  await expect(page.getByRole("heading", { name: "Activity", level: 1 })).toBeFocused();
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await expect(page.getByRole("heading", { name: "Stats", level: 1 })).toBeFocused();
});
