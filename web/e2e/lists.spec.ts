/** What makes long lists quick: filters with a name, and a preview of a row. */
import { expect, test } from "./fixtures";

test("a person saves filters by keyboard, finds them after a reload, and removes them", async ({ broker, page }) => {
  await broker.agent("builder").propose("Add none");
  await broker.agent("other").propose("Add more");
  await page.goto(broker.url("/r?proposer=builder"));
  const views = page.getByRole("region", { name: "Saved views" });
  await expect(page.getByRole("link", { name: /Add none/ })).toBeVisible();
  await page.keyboard.press("b");
  const dialog = page.getByRole("dialog", { name: "Save this view" });
  await expect(dialog.getByLabel("Name")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(dialog).toContainText("Give the view a name.");
  await expect(dialog.getByLabel("Name")).toBeFocused();
  await page.keyboard.type("of builder");
  await page.keyboard.press("Enter");
  await expect(dialog).toHaveCount(0);
  await expect(views.getByRole("button", { name: "of builder", exact: true })).toHaveAttribute("aria-current", "true");

  await page.goto(broker.url("/r"));
  await expect(page.getByRole("link", { name: /Add more/ })).toBeVisible();
  await views.getByRole("button", { name: "of builder", exact: true }).click();
  await expect(page).toHaveURL(/proposer=builder/);
  await expect(page.getByRole("link", { name: /Add more/ })).toHaveCount(0);
  await views.getByRole("button", { name: "Remove the view of builder" }).click();
  await expect(views.getByRole("button", { name: "of builder", exact: true })).toHaveCount(0);
});

test("the list of issues has views of its own", async ({ broker, page }) => {
  const review = await broker.agent("builder").propose("Add none");
  const reviewer = broker.agent("reviewer");
  await reviewer.claim(review);
  await reviewer.requestChanges(review, "Two faults.", [
    { severity: "high", title: "It panics" },
    { severity: "medium", title: "It is slow" },
  ]);
  await page.goto(broker.url("/i?severity=high"));
  await expect(page.getByText("It panics")).toBeVisible();
  await page.getByRole("button", { name: /Save this view/ }).click();
  const dialog = page.getByRole("dialog", { name: "Save this view" });
  await expect(dialog.getByLabel("Name")).toBeFocused();
  await page.keyboard.type("urgent");
  await page.keyboard.press("Enter");
  await expect(dialog).toHaveCount(0);
  await page.goto(broker.url("/i"));
  await expect(page.getByText("It is slow")).toBeVisible();
  await page.getByRole("region", { name: "Saved views" }).getByRole("button", { name: "urgent", exact: true }).click();
  await expect(page.getByText("It is slow")).toHaveCount(0);
  await expect(page.getByText("It panics")).toBeVisible();
  await page.goto(broker.url("/r"));
  await expect(page.getByRole("link", { name: /Add none/ })).toBeVisible();
  await expect(page.getByRole("region", { name: "Saved views" })).toHaveCount(0);
});

test("the space bar previews the review of a row", async ({ broker, page }) => {
  const diff = broker.repository.diff({ "src/price.rs": "pub fn price() {}\n" });
  await broker.agent("builder").propose("Add none", { diff, description: "A customer may buy *nothing*." });
  await page.goto(broker.url("/r"));
  await expect(page.getByRole("link", { name: /Add none/ })).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("Space");
  const preview = page.getByRole("dialog", { name: "R-1, in short" });
  await expect(preview).toContainText("A customer may buy *nothing*.");
  await expect(preview.getByRole("list", { name: "Files" })).toContainText("src/price.rs");
  await page.keyboard.press("Escape");
  await expect(preview).toHaveCount(0);
  await expect(page.getByRole("link", { name: /Add none/ })).toBeFocused();
  await page.getByRole("button", { name: "Preview R-1" }).click();
  await expect(preview).toBeVisible();
});
