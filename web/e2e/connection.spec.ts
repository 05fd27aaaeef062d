/** The connection to the broker: restarts, another database, two tabs, links of other sites. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "./fixtures";
import { expectNotReloaded, markLoaded, ReviewView } from "./reviewView";

test("a restart of the broker in the middle", async ({ broker, page, faults }) => {
  const builder = broker.agent("builder");
  const review = await builder.propose("Add none");
  const view = await ReviewView.open(page, broker, review);
  await expect(live(page)).toBeVisible();
  await markLoaded(page);
  await view.composer.fill("Half a message");

  faults.expectBrokerDown();
  await broker.stop("SIGKILL");
  await expect(page.getByRole("button", { name: /^offline/ })).toBeVisible();
  await expect(view.composer).toHaveValue("Half a message");
  await expect(page.getByRole("button", { name: "Send", exact: true })).toBeDisabled();
  await broker.start();
  await expect(live(page)).toBeVisible();

  // What happened meanwhile is shown, and what happens from now on.
  await broker.agent("codex").claim(review);
  await view.expectStatus("claimed");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await expect(view.message("ann")).toContainText("Half a message");
  await expectNotReloaded(page);
});

test("another database on the port is noticed", async ({ broker, page, faults }) => {
  const review = await broker.agent("builder").propose("Of the first database");
  await page.goto(broker.url("/r"));
  await expect(page.getByText("Of the first database")).toBeVisible();
  await expect(live(page)).toBeVisible();
  faults.expectBrokerDown();
  faults.expect(/status of 4\d\d/);
  await broker.restartWithOtherDatabase();
  expect(await broker.agent("builder").propose("Of the second database")).toBe(review);
  await expect(page.getByText("Another database answers on this address.")).toBeVisible();
  await expect(page.getByText("Of the second database")).toBeVisible();
  await expect(page.getByText("Of the first database")).toBeHidden();
});

test("two tabs stay equal", async ({ broker, context }) => {
  const review = await broker.agent("builder").propose("Add none");
  const first = await ReviewView.open(await context.newPage(), broker, review);
  const second = await ReviewView.open(await context.newPage(), broker, review);
  await first.action("Take a seat").click();
  await first.dialog(`Take a seat of ${review}`).getByRole("button", { name: "Take the seat", exact: true }).click();
  for (const view of [first, second]) await view.expectStatus("claimed");
  await second.composer.fill("From the second tab");
  await second.page.getByRole("button", { name: "Send", exact: true }).click();
  for (const view of [first, second]) await expect(view.message("ann")).toContainText("From the second tab");
  await first.action("Approve").click();
  await first.verdict("Approve", review).getByRole("button", { name: "Approve", exact: true }).click();
  for (const view of [first, second]) await view.expectStatus("approved");
});

test("a link on another site opens the review, and the site can do nothing else", async ({ broker, page, faults }) => {
  const review = await broker.agent("builder").propose("Add none");
  const site = createServer((_, answer) => {
    answer.setHeader("content-type", "text/html");
    answer.end(
      `<!doctype html><title>Chat</title><link rel="icon" href="data:,"><a href="${broker.url(`/r/${review}`)}">Look at this</a>`,
    );
  }).listen(0, "127.0.0.1");
  try {
    await new Promise((done) => site.once("listening", done));
    // Another name for the same machine, so that the browser takes it as another site.
    const address = `http://localhost:${(site.address() as AddressInfo).port}`;
    faults.allowOrigin(address);
    await page.goto(address);
    faults.expect(/CORS policy|ERR_FAILED|status of 403/);
    const refused = await page.evaluate(async (api) => {
      try {
        await fetch(api);
        return "answered";
      } catch {
        return "refused";
      }
    }, broker.url("/api/v1/reviews"));
    expect(refused).toBe("refused");
    await page.getByRole("link", { name: "Look at this" }).click();
    await expect(page.getByRole("heading", { level: 1, name: /Add none/ })).toBeVisible();
    await new ReviewView(page).expectStatus("pending");
  } finally {
    site.close();
    site.closeAllConnections();
  }
});

test("updates can be paused", async ({ broker, page }) => {
  const review = await broker.agent("builder").propose("Add none");
  const view = await ReviewView.open(page, broker, review);
  await expect(live(page)).toBeVisible();
  await page.keyboard.press("w");
  await broker.agent("codex").claim(review);
  await expect(page.getByRole("button", { name: /^paused · [1-9]/ })).toBeVisible();
  await view.expectStatus("pending");
  await page.keyboard.press("w");
  await view.expectStatus("claimed");
});

const live = (page: import("@playwright/test").Page) => page.getByRole("button", { name: /^live/ });
