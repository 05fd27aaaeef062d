/** A broker that requires tokens: a one-time code, a token, sign-out. */
import { expect, test } from "./fixtures";
import { ReviewView } from "./reviewView";

test.use({ brokerOptions: { settings: "[auth]\nrequired = true\n" } });

test("the link of `countersign open` signs in once and leads to the review", async ({ broker, page, faults }) => {
  broker.token = (await broker.cli("token", "create", "--role", "operator", "--name", "olga")).trim();
  const review = await broker.agent("builder").propose("Add none");
  const link = (await broker.cli("open", review, "--print")).trim();
  expect(link).toContain("/sign-in#code=");
  await page.goto(link);
  await expect(page.getByRole("heading", { level: 1, name: /Add none/ })).toBeVisible();
  const view = new ReviewView(page);
  await view.composer.fill("Signed in");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await expect(view.conversation).toContainText("Signed in");
  const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, document.cookie]));
  expect(stored).not.toContain(broker.token);

  faults.expectBrokerDown();
  await broker.restart();
  await expect(page.getByRole("button", { name: /^live/ })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("heading", { level: 1, name: /Add none/ })).toBeVisible();

  // The code is used up.
  faults.expect(/status of 401/);
  await page.context().clearCookies();
  await page.goto(broker.url("/"));
  await page.goto(link);
  await expect(page.getByRole("alert")).toContainText("was used already");
});

test("before anyone has signed in, a page asks for nothing that it may not have", async ({ broker, page }) => {
  // A refused call would be an error in the console, and so a fault.
  for (const path of ["/", "/r", "/r/R-1", "/start", "/preferences"]) {
    await page.goto(broker.url(path));
    await expect(page.getByRole("heading", { level: 1, name: "Sign in to Countersign" })).toBeVisible();
    await page.waitForLoadState("networkidle");
  }
});

test("a token can be pasted, and signing out ends the session", async ({ broker, page, faults }) => {
  const token = (await broker.cli("token", "create", "--role", "operator", "--name", "olga")).trim();
  broker.token = token;
  await broker.agent("builder").propose("Add none");
  await page.goto(broker.url("/"));
  await expect(page.getByRole("heading", { level: 1, name: "Sign in to Countersign" })).toBeVisible();
  await expect(page.getByText("countersign open")).toBeVisible();
  await page.getByRole("button", { name: "Paste a token instead" }).click();
  // Until here nothing was refused: the page asks for nothing before it may.
  faults.expect(/status of 401|HTTP Authentication failed/);
  await page.getByLabel("Token", { exact: true }).fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByText("does not know this token")).toBeVisible();
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("link", { name: /Add none/ })).toBeVisible();

  await page.goto(broker.url("/preferences"));
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Sign in to Countersign" })).toBeVisible();
});
