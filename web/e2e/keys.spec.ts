/** Keys and palette, where a story does not come by. */
import type { Page } from "@playwright/test";
import type { Broker } from "./broker";
import { expect, test } from "./fixtures";
import { ReviewView } from "./reviewView";

const CHANGE = "pub const PRICE: u32 = 1;\npub const TAX: u32 = 2;\npub const TIP: u32 = 3;\n";

async function openChange(page: Page, broker: Broker): Promise<{ review: string; view: ReviewView }> {
  const diff = broker.repository.diff({ "src/price.rs": CHANGE });
  const review = await broker.agent("builder").propose("Add prices", { diff });
  const view = await ReviewView.open(page, broker, review);
  await expect(view.line("pub const TIP")).toBeVisible();
  return { review, view };
}

test("the palette of a review offers the actions of its keys, other pages and reviews", async ({ broker, page }) => {
  const { review, view } = await openChange(page, broker);
  await page.keyboard.press("Control+K");
  for (const entry of [/^Approve/, /^Find in the diff/, /^Go to Inbox/, new RegExp(`^${review} Add prices`)]) {
    await expect(page.getByRole("menuitem", { name: entry })).toBeAttached();
  }
  await page.keyboard.type("request");
  await page.keyboard.press("Enter");
  await expect(view.verdict("Request changes", review)).toBeVisible();
});

test("n leads into the diff, where arrow keys select, and Esc leaves the message field", async ({ broker, page }) => {
  const { view } = await openChange(page, broker);
  await page.keyboard.press("r");
  await expect(view.composer).toBeFocused();
  await page.keyboard.type("A question");
  await page.keyboard.press("Escape");
  await page.keyboard.press("n");
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("c");
  await expect(page.getByRole("form", { name: /price\.rs:\d+-\d+/ })).toBeVisible();
  await expect(view.composer).toHaveValue("A question");
});

test("search goes on to the rows", async ({ broker, page }) => {
  const { review } = await openChange(page, broker);
  await page.goto(broker.url("/r"));
  await expect(page.getByRole("link", { name: new RegExp(`${review} Add prices`) })).toBeVisible();
  await page.keyboard.type("/prices");
  await expect(page).toHaveURL(/q=prices/);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("link", { name: new RegExp(`${review} Add prices`) })).toBeFocused();
});

test("on a phone, / opens the find of the diff from another tab", async ({ broker, page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  const { view } = await openChange(page, broker);
  await view.tab(/^Conversation/).click();
  await page.keyboard.press("/");
  const find = page.getByRole("searchbox", { name: "Find in the diff" });
  await expect(find).toBeFocused();
  await page.keyboard.type("TIP");
  await expect(find).toHaveValue("TIP");
});

test("a phone reaches every page of the navigation", async ({ broker, page }) => {
  await broker.agent("builder").propose("Add prices");
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(broker.address);
  const main = page.getByRole("navigation", { name: "Main" });
  await expect(main.getByRole("link", { name: "Start" })).toBeHidden();
  await main.getByRole("button", { name: "More" }).press("Enter");
  await main.getByRole("link", { name: "Start" }).click();
  await expect(page.getByRole("heading", { name: "Start", level: 1 })).toBeFocused();
  await expect(main.getByRole("link", { name: "Start" })).toBeHidden();
});
