/** A person joins the conversation of agents, and takes a seat over. */
import { expect, test } from "./fixtures";
import { PRICE } from "./repository";
import { ReviewView } from "./reviewView";

test("a person writes without a seat, and the agents answer", async ({ broker, page }) => {
  const builder = broker.agent("builder");
  const reviewer = broker.agent("codex");
  const review = await builder.propose("Add none");
  await reviewer.claim(review);
  const view = await ReviewView.open(page, broker, review);

  await view.composer.fill("Please also look at *rounding*.");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await expect(view.message("ann")).toContainText("Please also look at rounding.");
  await expect(view.composer).toHaveValue("");
  const { messages } = await broker.call("get_discussion", { review_id: review });
  expect(messages).toMatchObject([
    { sender_role: "operator", caller_id: "ann", body: "Please also look at *rounding*." },
  ]);

  await reviewer.say(review, "I will.", "reviewer");
  await expect(view.message("codex")).toContainText("I will.");
});

test("a message on lines of the diff reaches the agents with its place", async ({ broker, page }) => {
  const diff = broker.repository.diff({ "src/price.rs": `${PRICE}pub fn none() {}\n` });
  const review = await broker.agent("builder").propose("Add none", { diff });
  await broker.agent("codex").claim(review);
  const view = await ReviewView.open(page, broker, review);
  const form = await view.commentOn("pub fn none()");
  await form.getByText("Message, sent now").click();
  await form.getByRole("textbox", { name: "Message" }).fill("Why this?");
  await form.getByRole("button", { name: "Send" }).click();
  await expect(view.message("ann")).toContainText("Why this?");
  const { messages } = await broker.call("get_discussion", { review_id: review });
  expect(messages).toMatchObject([{ anchor: { file: "src/price.rs", line_start: 5 }, body: "Why this?" }]);
});

test("a person takes over the seat of an agent and votes", async ({ broker, page }) => {
  const reviewer = broker.agent("codex");
  const review = await broker.agent("builder").propose("Add none");
  const claim = await reviewer.claim(review);
  const view = await ReviewView.open(page, broker, review);
  await view.action("All actions").click();
  await page.getByRole("menuitem", { name: /^Take over a seat/ }).click();
  await view.dialog(`Take over a seat of ${review}`).getByRole("button", { name: "Take it over", exact: true }).click();
  await expect(view.seats).toContainText("ann");
  await expect(reviewer.approve(review)).rejects.toThrow(/stale_claim|not_your_seat/);
  expect(claim.claim_generation).toBeGreaterThan(0);
  await view.action("Approve").click();
  await view.verdict("Approve", review).getByRole("button", { name: "Approve", exact: true }).click();
  await view.expectStatus("approved");
});

test("a person adds a seat and answers a finding for the proposer", async ({ broker, page }) => {
  const reviewer = broker.agent("codex");
  const review = await broker.agent("builder").propose("Add none");
  await reviewer.claim(review);
  await reviewer.requestChanges(review, "Two things.", [
    { severity: "high", title: "First" },
    { severity: "low", title: "Second" },
  ]);
  const view = await ReviewView.open(page, broker, review, "?tab=findings");
  await view.finding("I-1").last().getByRole("button", { name: "Won't fix" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: /note|reason|why/i }).fill("Not in this change.");
  await dialog
    .getByRole("button", { name: /won't fix/i })
    .last()
    .click();
  await expect(dialog).toBeHidden();
  await expect
    .poll(async () => (await broker.call("list_issues", { review_id: review, issue_id: "I-1" })).issues[0]?.status)
    .toBe("wont_fix");

  await view.action("All actions").click();
  await page.getByRole("menuitem", { name: /^Add a seat/ }).click();
  await page.getByRole("textbox", { name: "Reviewer" }).fill("security");
  await page.getByRole("button", { name: "Add the seat" }).click();
  await expect(view.seats).toContainText("security");
});

test("a counter-patch is shown as a diff and accepted", async ({ broker, page }) => {
  const builder = broker.agent("builder");
  const reviewer = broker.agent("codex");
  const diff = broker.repository.diff({ "src/price.rs": `${PRICE}pub fn one() -> u32 { 0 }\n` });
  const review = await builder.propose("Add one", { diff });
  await reviewer.claim(review);
  const better = broker.repository.diff({ "src/price.rs": `${PRICE}pub fn one() -> u32 { 1 }\n` });
  await reviewer.requestChanges(review, "It returns 0.", [], better);
  const view = await ReviewView.open(page, broker, review);
  await view.conversation.getByRole("button", { name: "View" }).click();
  await expect(view.line("pub fn one() -> u32 { 1 }")).toBeVisible();
  // First what the reviewer would change in what was proposed, then the whole.
  await expect(view.line("pub fn one() -> u32 { 0 }")).toBeVisible();
  await page.getByText("the whole change, from the base").click();
  await expect(view.line("pub fn one() -> u32 { 0 }")).toBeHidden();
  await expect(view.line("pub fn one() -> u32 { 1 }")).toBeVisible();
  await page.getByRole("button", { name: "Accept", exact: true }).first().click();
  await view.dialog("Accept the counter-patch of general").getByRole("button", { name: "Accept", exact: true }).click();
  await expect
    .poll(async () => (await broker.call("get_review", { review_id: review })).diff)
    .toContain("+pub fn one() -> u32 { 1 }");
  await expect(view.line("pub fn one() -> u32 { 1 }")).toBeVisible();
  await expect(view.conversation).toContainText("ann accepted the counter-patch");
});

test("the long reason of an earlier verdict can be read to its end", async ({ broker, page }) => {
  const review = await broker.agent("builder").propose("Add none", { personas: ["general", "security"] });
  const [first, second] = [broker.agent("codex"), broker.agent("claude")];
  await first.claim(review, "general");
  await second.claim(review, "security");
  await first.requestChanges(review, `${"Because. ".repeat(6_000)}That is all.`);
  await second.requestChanges(review, "No.");
  const view = await ReviewView.open(page, broker, review);
  const verdict = view.conversation.getByRole("article", { name: "Verdict of general" });
  await expect(verdict).toContainText("Because.");
  await expect(verdict).not.toContainText("That is all.");
  await verdict.getByRole("button", { name: "Show all of it" }).click();
  await expect(verdict).toContainText("That is all.");
});

test("a person submits the next round with a diff from the clipboard", async ({ broker, page }) => {
  const reviewer = broker.agent("codex");
  const diff = broker.repository.diff({ "src/price.rs": `${PRICE}pub fn one() -> u32 { 0 }\n` });
  const review = await broker.agent("builder").propose("Add one", { diff });
  await reviewer.claim(review);
  await reviewer.requestChanges(review, "It returns 0.");
  const view = await ReviewView.open(page, broker, review);
  await view.action("All actions").click();
  await page.getByRole("menuitem", { name: /^Submit a new round/ }).click();
  const dialog = view.dialog(`Ask for a new review of ${review}`);
  const better = broker.repository.diff({ "src/price.rs": `${PRICE}pub fn one() -> u32 { 1 }\n` });
  await dialog.getByRole("textbox", { name: "Diff" }).fill(better.trimEnd());
  await dialog.getByRole("button", { name: "Submit round 2" }).click();
  await expect(dialog).toBeHidden();
  await expect(view.line("pub fn one() -> u32 { 1 }")).toBeVisible();
  expect((await broker.call("get_review", { review_id: review })).diff).toBe(better);
});
