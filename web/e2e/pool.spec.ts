/** A person operates the reviewers of the broker. */
import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures";
import { APPROVES, logOf, poolOf, shell, spawned, untilPool } from "./pool";
import { expectNotReloaded, markLoaded } from "./reviewView";

test.describe("reviewers that approve", () => {
  test.use({ brokerOptions: { settings: poolOf(APPROVES, 'idle_after = "10m"') } });

  test("a person starts a reviewer, watches it work and drains it, by keyboard", async ({ broker, page }) => {
    await page.goto(broker.url("/"));
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await page.keyboard.press("g");
    await page.keyboard.press("p");
    await expect(page.getByRole("heading", { level: 1, name: "Reviewers" })).toBeFocused();
    await expect(page.getByText("No seat is free, so no reviewer is needed.")).toBeVisible();
    await markLoaded(page);

    await page.keyboard.press("s");
    await page
      .getByRole("dialog", { name: "Start a reviewer" })
      .getByRole("button", { name: /^Start it/ })
      .press("Enter");
    const row = page.getByRole("link", { name: "command-r1" });
    await expect(row).toBeVisible();
    await page.keyboard.press("j");
    await expect(row).toBeFocused();
    await page.keyboard.press("Enter");
    const log = logOf(page);
    await expect(log).toContainText("waits for work");

    // It is written while the person watches.
    const review = await broker.agent("builder").propose("A change");
    await expect(log.getByText(`reads ${review}`)).toHaveClass(/text-warn/);
    await expect(log.getByText(`approved ${review}`)).toHaveClass(/text-ok/);
    await page.keyboard.press("u");
    const item = page.getByRole("listitem").filter({ hasText: "command-r1" });
    await expect(item).toContainText("1 review done");
    await expect(item).toContainText("100 % approved");
    await expect(item).toContainText("cost —");

    await item.getByRole("button", { name: "Drain command-r1" }).press("Enter");
    await page.keyboard.press("Control+Enter");
    const ended = page.getByRole("list", { name: "Ended reviewers" });
    await expect(ended).toContainText("stopped: operator");
    await expectNotReloaded(page);
    const me = (await broker.call("whoami", {})).suggested_name;
    const { events } = await broker.call("get_audit_log", { kind: ["reviewer_terminated"] });
    expect(events[0]?.by).toBe(me);
    await ended.getByRole("link", { name: "command-r1" }).click();
    await expect(logOf(page)).toContainText("approved R-1");
    await expect(page.getByText("the reviewer has ended")).toBeVisible();
  });

  test("a paused pool stays paused over a restart, until a person resumes it", async ({ broker, page, faults }) => {
    faults.expectBrokerDown();
    await page.goto(broker.url("/pool"));
    await expect(page.getByRole("region", { name: "Pool" })).toContainText("ready");
    await page.keyboard.press("p");
    const pause = page.getByRole("dialog", { name: "Pause the pool" });
    await expect(pause).toContainText("also after a restart of the broker");
    await pause.getByRole("button", { name: /^Pause/ }).click();
    const head = page.getByRole("region", { name: "Pool" });
    await expect(head).toContainText("paused");
    const review = await broker.agent("builder").propose("Waits for the end of the pause");
    await expect(head).toContainText("No reviewer starts. 1 review waits.");
    await expect(head.getByRole("button", { name: /^Start one/ })).toBeDisabled();

    await broker.restart();
    await page.goto(broker.url("/r"));
    await expect(page.getByRole("region", { name: "Notices" })).toContainText("The pool is paused");
    await page.goto(broker.url("/pool"));
    await head.getByRole("button", { name: /^Resume/ }).click();
    await page
      .getByRole("dialog", { name: "Resume the pool" })
      .getByRole("button", { name: /^Resume/ })
      .click();
    await expect(page.getByRole("listitem").filter({ hasText: "1 review done" })).toBeVisible();
    expect(await broker.call("get_review_status", { review_id: review })).toMatchObject({ status: "approved" });
  });

  test("the limit changes for this run, and all reviewers are stopped", async ({ broker, page, faults }) => {
    faults.expect(/status of 409/);
    await spawned(broker);
    await page.goto(broker.url("/pool"));
    const head = page.getByRole("region", { name: "Pool" });
    await expect(head).toContainText("1 of 3 reviewers");
    await page.keyboard.press("l");
    const limit = page.getByRole("dialog", { name: "Limit of the pool" });
    await limit.getByLabel("Reviewers at once").fill("99");
    await expect(limit).toContainText("Give a number from 1 to 10.");
    await limit.getByLabel("Reviewers at once").fill("1");
    await limit.getByRole("button", { name: /^Change the limit/ }).click();
    await expect(head).toContainText("1 of 1 reviewers");
    await expect(head).toContainText("pool.max_size is 3");

    await page.keyboard.press("s");
    const start = page.getByRole("dialog", { name: "Start a reviewer" });
    await start.getByRole("button", { name: /^Start it/ }).click();
    await expect(start.getByRole("alert")).toContainText("the pool is full");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Shift+X");
    const stop = page.getByRole("dialog", { name: "Stop all reviewers" });
    await stop.getByText("now", { exact: true }).click();
    await stop.getByRole("button", { name: /^Stop 1 reviewer/ }).click();
    await expect(page.getByRole("list", { name: "Ended reviewers" })).toContainText("command-r1");
    await untilPool(broker, (pool) => pool.reviewers.length === 0);
  });

  test("personas are shown with their prompts", async ({ broker, page }) => {
    await page.goto(broker.url("/pool"));
    const persona = page.getByRole("listitem").filter({ hasText: /^security/ });
    await persona.getByRole("button", { name: "Its prompt" }).click();
    await expect(persona).toContainText("an agent of the pool takes its seats");
    const { personas } = await broker.call("list_personas", {});
    const prompt = personas.find(({ name }) => name === "security")?.prompt ?? "";
    await expect(persona).toContainText(prompt.trim().split("\n")[0] ?? "");
  });
});

test.describe("reviewers that fail", () => {
  const fails = shell("echo 'no key for the model' >&2; echo 'log in first' >&2; exit 3");
  test.use({ brokerOptions: { settings: poolOf(fails, 'max_failures = 2\ncheck_every = "50ms"') } });

  test("a crash loop is shown with its reason and the last words, on every page", async ({ broker, page }) => {
    await page.goto(broker.url("/pool"));
    await broker.agent("builder").propose("Waits in vain");
    const head = page.getByRole("region", { name: "Pool" });
    await expect(head).toContainText("crash loop");
    await expect(head).toContainText("2 reviewers failed in a row");
    await expect(head).toContainText("log in first");
    const ended = page.getByRole("list", { name: "Ended reviewers" }).getByRole("listitem").first();
    await expect(ended).toContainText("exit code 3");
    await page.goto(broker.url("/r"));
    const notices = page.getByRole("region", { name: "Notices" });
    await expect(notices).toContainText("Reviewers end as soon as they start.");
    await notices.getByRole("button", { name: "Its last words" }).click();
    await expect(notices).toContainText("no key for the model");
  });
});

test.describe("a log of a million lines", () => {
  const prints = shell("awk 'BEGIN { for (i = 1; i <= 1000000; i++) print \"line \" i }'; echo done; exec sleep 1000");
  test.use({ brokerOptions: { settings: poolOf(prints) } });

  test("follows without freezing the page, and is searched as a whole", async ({ broker, page }) => {
    test.slow();
    const reviewer = await spawned(broker);
    await page.goto(broker.url(`/pool/${reviewer}`));
    const log = logOf(page);
    await expect(log).toBeVisible();
    await watchFrames(page);
    await expect(log.getByText("line 1000000", { exact: true })).toBeVisible({ timeout: 120_000 });
    expect(await longestFrame(page), "the longest time without a frame, in ms").toBeLessThan(2_000);
    expect(await log.locator("> div > div").count()).toBeLessThan(200);

    // Scrolling up stops following; nothing moves under the eye.
    await log.hover();
    await page.mouse.wheel(0, -2_000);
    await expect(page.getByText("paused: new output is not shown")).toBeVisible();
    await log.press("Home");
    await expect(log.getByText("line 1", { exact: true })).toBeVisible();
    await page.keyboard.press("/");
    await page.keyboard.type("line 777777");
    await expect(page.getByText("1 of 1 lines", { exact: true })).toBeVisible({ timeout: 60_000 });
    await expect(log.getByText("line 777777", { exact: true })).toBeInViewport();
    await expect(log.locator("[aria-current]")).toContainText("line 777777");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Shift+G");
    await expect(log.getByText("done", { exact: true })).toBeInViewport();
    await expect(page).toHaveURL(/q=line/);
  });
});

/** From now on, the page measures the longest time between two frames. */
async function watchFrames(page: Page) {
  await page.evaluate(() => {
    const measured = window as { longestFrame?: number };
    let last = performance.now();
    const frame = (now: number) => {
      measured.longestFrame = Math.max(measured.longestFrame ?? 0, now - last);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
}

const longestFrame = (page: Page) =>
  page.evaluate(() => (window as { longestFrame?: number }).longestFrame ?? Number.POSITIVE_INFINITY);
