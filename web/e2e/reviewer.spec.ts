/** The whole part of a reviewer: by mouse, and again by keyboard alone. */
import { expect, test } from "./fixtures";
import { PRICE } from "./repository";
import { pressUntilFocused, ReviewView } from "./reviewView";

const ADDED = "pub fn none() -> u32 { 0 }";
const WITH_NONE = `${PRICE}\n${ADDED}\n`;

test("by mouse", async ({ broker, page }) => {
  const builder = broker.agent("builder");
  const diff = broker.repository.diff({ "src/price.rs": WITH_NONE });
  const review = await builder.propose("Add none", { diff });
  const next = await builder.propose("Add more");

  await page.goto(broker.url("/"));
  await page.getByRole("link", { name: new RegExp(`${review} Add none`) }).click();
  const view = new ReviewView(page);
  await view.action("Take a seat").click();
  await view.dialog(`Take a seat of ${review}`).getByRole("button", { name: "Take the seat", exact: true }).click();
  await view.expectStatus("claimed");
  await expect(view.seats).toContainText("ann");

  const form = await view.commentOn(ADDED);
  await form.getByRole("textbox", { name: "Title" }).fill("It always returns 0");
  await form
    .getByRole("button", { name: /^Severity|low|medium|high|critical|suggestion/ })
    .first()
    .click();
  await page.getByRole("option", { name: /high/ }).click();
  await form.getByRole("button", { name: "Add to my verdict" }).click();
  await expect(page.getByRole("article", { name: "Draft: It always returns 0" }).first()).toBeVisible();

  await view.action("Request changes").click();
  const dialog = view.verdict("Request changes", review);
  await expect(dialog.getByRole("region", { name: "Findings of this verdict" })).toContainText("It always returns 0");
  await dialog.getByRole("textbox", { name: /^Reason/ }).fill("Say what it is for.");
  await dialog.getByRole("button", { name: "Request changes", exact: true }).click();
  await view.expectStatus("changes requested");
  const issues = await broker.call("list_issues", { review_id: review });
  expect(issues.issues).toMatchObject([{ severity: "high", title: "It always returns 0", line_start: 6 }]);

  const better = broker.repository.diff({ "src/price.rs": `${PRICE}\n/// The price of nothing.\n${ADDED}\n` });
  await builder.revise(review, "Add none", { diff: better });
  await page.getByRole("button", { name: "Show round 2" }).click();
  await expect(view.line("The price of nothing")).toBeVisible();
  await view.finding("I-1").first().getByRole("button", { name: "Fixed" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Fixed", exact: true }).click();
  await view.action("Approve").click();
  await view.verdict("Approve", review).getByRole("button", { name: "Approve", exact: true }).click();
  await view.expectStatus("approved");
  expect(await broker.call("get_review_status", { review_id: review })).toMatchObject({ status: "approved" });
  // On to the next one.
  await page.getByRole("link", { name: new RegExp(`^Next: ${next}`) }).click();
  await expect(page.getByRole("heading", { level: 1, name: new RegExp(`^${next} Add more`) })).toBeVisible();
});

test("by keyboard alone", async ({ broker, page }) => {
  const builder = broker.agent("builder");
  const diff = broker.repository.diff({ "src/price.rs": WITH_NONE });
  const review = await builder.propose("Add none", { diff });
  const next = await builder.propose("Add more");
  const { keyboard } = page;

  await page.goto(broker.url("/"));
  await expect(page.getByRole("link", { name: new RegExp(`${review} Add none`) })).toBeVisible();
  await pressUntilFocused(page, "j", page.getByRole("link", { name: new RegExp(`${review} Add none`) }));
  await keyboard.press("Enter");
  const view = new ReviewView(page);
  await view.expectStatus("pending");
  await expect(view.line(ADDED)).toBeVisible();

  await keyboard.press("t");
  await expect(view.dialog(`Take a seat of ${review}`)).toBeVisible();
  await keyboard.press("Control+Enter");
  await view.expectStatus("claimed");

  await keyboard.press("n");
  await keyboard.press("c");
  const title = page.getByRole("textbox", { name: "Title" });
  await expect(title).toBeFocused();
  await keyboard.type("It always returns 0");
  await keyboard.press("Control+Enter");
  await expect(page.getByRole("article", { name: "Draft: It always returns 0" }).first()).toBeVisible();

  await keyboard.press("x");
  const dialog = view.verdict("Request changes", review);
  await expect(dialog.getByRole("region", { name: "Findings of this verdict" })).toContainText("It always returns 0");
  const reason = dialog.getByRole("textbox", { name: /^Reason/ });
  await pressUntilFocused(page, "Tab", reason);
  await keyboard.type("Say what it is for.");
  await keyboard.press("Control+Enter");
  await view.expectStatus("changes requested");

  const better = broker.repository.diff({ "src/price.rs": `${PRICE}\n/// The price of nothing.\n${ADDED}\n` });
  await builder.revise(review, "Add none", { diff: better });
  await expect(page.getByText("Round 2 has arrived")).toBeVisible();
  await keyboard.press("2");
  await expect(view.line("The price of nothing")).toBeVisible();
  await keyboard.press("a");
  await expect(view.verdict("Approve", review)).toBeVisible();
  await keyboard.press("Control+Enter");
  await view.expectStatus("approved");
  const link = page.getByRole("link", { name: new RegExp(`^Next: ${next}`) });
  await expect(link).toBeVisible();
  await keyboard.press("g");
  await keyboard.press("n");
  await expect(page.getByRole("heading", { level: 1, name: new RegExp(`^${next} Add more`) })).toBeVisible();
});
