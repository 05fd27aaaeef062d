/** The tree of actors, live and by keyboard. */
import { expect, test } from "./fixtures";

test("the tree follows the broker, freezes, is searched and moves by keyboard", async ({ broker, page }) => {
  await page.goto(broker.url("/"));
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  const tree = page.getByRole("tree", { name: "Actors" });
  await expect(tree.getByRole("treeitem").first()).toContainText("supervisor");
  const review = await broker.agent("builder").propose("A change");
  const item = tree.getByRole("treeitem").filter({ hasText: review });
  await expect(item).toContainText("mailbox 0");
  await expect(page.getByText("No mailbox grows, and no actor was restarted.")).toBeVisible();

  await page.keyboard.press("f");
  await expect(page.getByRole("button", { name: /^Freeze/ })).toHaveAttribute("aria-pressed", "true");
  const other = await broker.agent("builder").propose("Another change");
  await page.keyboard.press("f");
  await expect(tree.getByRole("treeitem").filter({ hasText: other })).toBeVisible();

  const first = tree.getByRole("treeitem").first();
  await first.focus();
  await page.keyboard.press("ArrowDown");
  await expect(tree.getByRole("treeitem").nth(1)).toBeFocused();
  await page.keyboard.press("Home");
  await expect(first).toBeFocused();
  await page.keyboard.press("ArrowLeft");
  await expect(first).toHaveAttribute("aria-expanded", "false");
  await expect(tree.getByRole("treeitem")).toHaveCount(1);
  await page.keyboard.press("ArrowRight");
  await expect(item).toBeVisible();

  await page.keyboard.press("/");
  await page.keyboard.type(review);
  await expect(item).toBeVisible();
  await expect(tree.getByRole("treeitem").filter({ hasText: other })).toHaveCount(0);
  await expect(page).toHaveURL(new RegExp(`q=${review}`));
  await page.getByRole("searchbox", { name: "Find an actor" }).fill("no such actor");
  await expect(page.getByText("No actor matches this search.")).toBeVisible();
});
