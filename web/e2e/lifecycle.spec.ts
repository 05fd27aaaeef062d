/** A person watches while agents work: everything appears without a reload. */
import { expect, test } from "./fixtures";
import { PRICE } from "./repository";
import { expectNotReloaded, markLoaded, ReviewView } from "./reviewView";

const DISCOUNT = `${PRICE}
pub fn discounted(total: u32, percent: u32) -> u32 {
    total * (100 - percent) / 100
}
`;

test("a review arrives, is discussed, revised, approved and closed while the page is open", async ({
  broker,
  page,
}) => {
  await broker.agent("other").propose("Something else");
  await page.goto(broker.url("/"));
  await expect(page.getByRole("heading", { level: 1, name: "Inbox" })).toBeVisible();
  await markLoaded(page);

  const builder = broker.agent("builder");
  const reviewer = broker.agent("codex");
  const diff = broker.repository.diff({ "src/price.rs": DISCOUNT });
  const review = await builder.propose("Take a discount", { diff });
  const row = page.getByRole("link", { name: new RegExp(`${review} Take a discount`) });
  await expect(row).toBeVisible();
  await row.click();
  const view = new ReviewView(page);
  await view.expectStatus("pending");
  await expect(view.line("total * (100 - percent) / 100")).toBeVisible();

  await reviewer.claim(review);
  await view.expectStatus("claimed");
  await expect(view.seats).toContainText("codex");

  const finding = { severity: "high", file: "src/price.rs", line_start: 7, title: "Panics over 100 %" } as const;
  await reviewer.requestChanges(review, "One input makes it panic.", [finding]);
  await view.expectStatus("changes requested");
  await expect(view.finding("I-1").first()).toContainText("Panics over 100 %");
  await expect(view.conversation).toContainText("One input makes it panic.");

  await builder.say(review, "Callers check it.", "proposer");
  await expect(view.message("builder")).toContainText("Callers check it.");
  const fixed = broker.repository.diff({ "src/price.rs": DISCOUNT.replace("- percent", "- percent.min(100)") });
  await builder.revise(review, "Take a discount", { diff: fixed });
  await expect(page.getByText("Round 2 has arrived")).toBeVisible();
  await page.getByRole("button", { name: "Show round 2" }).click();
  await expect(view.line("percent.min(100)")).toBeVisible();

  await reviewer.claim(review);
  await reviewer.approve(review, "No input fails now.");
  await view.expectStatus("approved");
  await builder.close(review);
  await view.expectStatus("closed");
  await expectNotReloaded(page);
});

test("several agents work at the same time, and the list shows how each review stands", async ({ broker, page }) => {
  await page.goto(broker.url("/r"));
  await markLoaded(page);
  const names = ["one", "two", "three", "four"];
  const reviews = await Promise.all(
    names.map(async (name) => {
      const builder = broker.agent(`builder-${name}`);
      const reviewer = broker.agent(`reviewer-${name}`);
      const review = await builder.propose(`Change of ${name}`);
      await reviewer.claim(review);
      await reviewer.requestChanges(review, "Not yet.");
      await builder.revise(review, `Change of ${name}`, { description: "Better." });
      await reviewer.claim(review);
      await reviewer.approve(review);
      return review;
    }),
  );
  for (const [n, review] of reviews.entries()) {
    const row = page.getByRole("row").filter({ hasText: `Change of ${names[n]}` });
    await expect(row).toContainText(review);
    await expect(row).toContainText("approved");
  }
  await expectNotReloaded(page);
});
