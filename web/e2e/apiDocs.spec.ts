/** The documentation of the REST API, and a form to try what only reads. */
import { expect, test } from "./fixtures";

test("the documentation leads from a word to an answer", async ({ broker, page }) => {
  await broker.agent("builder").propose("Add none");
  await page.goto(broker.url("/"));
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("d");
  await expect(page.getByRole("heading", { level: 1, name: "REST API" })).toBeFocused();
  const find = page.getByRole("searchbox");
  await expect(find).toBeVisible();
  await page.keyboard.press("/");
  await expect(find).toBeFocused();
  await page.keyboard.type("status waiting_on");
  await expect(page).toHaveURL(/[?&]q=status/);
  const card = page.getByRole("article", { name: "Status of a review" });
  await card.getByRole("button").first().click();
  await expect(page).toHaveURL(/op=get_review_status/);
  await expect(card.getByRole("rowheader", { name: /review_id/ })).toBeVisible();
  await expect(card).toContainText("/api/v1/reviews/R-12/status'");
  await expect(card).toContainText("countersign status R-12");
  await card.getByRole("button", { name: "ReviewStatusResponse" }).click();
  await expect(card).toContainText("waiting_on");

  const form = card.getByRole("form", { name: "Try Status of a review" });
  await expect(form.getByRole("button", { name: "Send" })).toBeDisabled();
  await form.getByRole("textbox", { name: "review_id" }).fill("R-1");
  await form.getByRole("textbox", { name: "review_id" }).press("Enter");
  const answer = form.getByRole("status", { name: "Answer" });
  await expect(answer).toContainText("200 OK");
  await expect(answer).toContainText('"intent": "Add none"');

  // What changes something is described and cannot be sent from here.
  await page.goto(broker.url("/api-docs?op=cancel_review"));
  const cancel = page.getByRole("article", { name: "Cancel a review" }).filter({ hasText: "POST" });
  await expect(cancel).toContainText("countersign cancel R-12");
  await expect(cancel.getByRole("form")).toHaveCount(0);
});
