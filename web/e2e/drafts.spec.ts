/** What a person has typed is not lost. */
import { expect, test } from "./fixtures";
import { PRICE } from "./repository";
import { ReviewView } from "./reviewView";

const ADDED = "pub fn none() {}";

test("drafts survive a reload, a restart of the broker and a new round", async ({ broker, page, faults }) => {
  const builder = broker.agent("builder");
  const diff = broker.repository.diff({ "src/price.rs": `${PRICE}${ADDED}\n` });
  const review = await builder.propose("Add none", { diff });
  let view = await ReviewView.open(page, broker, review);
  await view.commentOn(ADDED);
  await page.getByText("Finding, sent with my verdict").click();
  await page.getByRole("textbox", { name: "Title" }).fill("It does nothing");
  await page.getByRole("button", { name: "Add to my verdict" }).click();
  await view.composer.fill("A message that is not sent");
  await view.action("Request changes").click();
  await page.getByRole("textbox", { name: /^Reason/ }).fill("Because it does nothing");
  await page.keyboard.press("Escape");

  await page.reload();
  view = await ReviewView.open(page, broker, review);
  await expect(page.getByRole("article", { name: "Draft: It does nothing" }).first()).toBeVisible();
  await expect(view.composer).toHaveValue("A message that is not sent");

  faults.expectBrokerDown();
  await broker.restart();
  await expect(page.getByRole("button", { name: /^live/ })).toBeVisible();
  await expect(page.getByRole("article", { name: "Draft: It does nothing" }).first()).toBeVisible();

  const better = broker.repository.diff({ "src/price.rs": `${PRICE}/// Nothing.\n${ADDED}\n` });
  await builder.revise(review, "Add none", { diff: better });
  await page.getByRole("button", { name: "Show round 2" }).click();
  await expect(view.line("/// Nothing.")).toBeVisible();
  await view.tab(/^Findings/).click();
  const draft = page.getByRole("region", { name: "Drafts" }).getByRole("article", { name: "Draft: It does nothing" });
  await expect(draft).toContainText("written for round 1");
  await draft.getByRole("button", { name: "Keep it at these lines" }).click();
  await view.action("Request changes").click();
  const dialog = view.verdict("Request changes", review);
  await expect(dialog.getByRole("textbox", { name: /^Reason/ })).toHaveValue("Because it does nothing");
  await dialog.getByRole("button", { name: "Request changes", exact: true }).click();
  await view.expectStatus("changes requested");
  const { issues } = await broker.call("list_issues", { review_id: review });
  expect(issues).toMatchObject([{ title: "It does nothing" }]);
  await expect(page.getByRole("article", { name: "Draft: It does nothing" })).toHaveCount(0);
});

test("a verdict for an old content is refused with what changed, and nothing is lost", async ({ broker, page }) => {
  const builder = broker.agent("builder");
  const review = await builder.propose("A plan", { category: "plan_review", description: "# First" });
  const view = await ReviewView.open(page, broker, review);
  await view.action("Approve").click();
  const dialog = view.verdict("Approve", review);
  await dialog.getByRole("textbox", { name: /^Reason/ }).fill("I like the first one");
  await builder.revise(review, "A plan", { description: "# Second" });
  await expect(dialog.getByRole("alert")).toContainText("Changed since you opened this form");
  await expect(dialog.getByRole("button", { name: "Approve", exact: true })).toBeDisabled();
  await expect(dialog.getByRole("textbox", { name: /^Reason/ })).toHaveValue("I like the first one");
  expect(await broker.call("get_review_status", { review_id: review })).toMatchObject({ status: "pending" });
});
