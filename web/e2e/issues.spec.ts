/** Issues of all reviews: filters, groups, settling several, files, search. */
import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import type { RawFinding } from "../src/api/generated";
import type { Broker } from "./broker";
import { expect, test } from "./fixtures";

const PRICE = "pub const PRICE: u32 = 1;\npub const TAX: u32 = 2;\n";

/** Proposes a change and raises these issues. */
async function raise(broker: Broker, intent: string, issues: readonly RawFinding[]): Promise<string> {
  const diff = broker.repository.diff({ "src/price.rs": PRICE, "src/tip.rs": "pub const TIP: u32 = 3;\n" });
  const review = await broker.agent("builder").propose(intent, { diff, policy: { block_on_critical: true } });
  const reviewer = broker.agent(`reviewer-of-${intent.split(" ")[0]}`);
  await reviewer.claim(review);
  await reviewer.requestChanges(review, "The rounding is wrong.", [...issues]);
  return review;
}

const at = (file: string, line: number) => ({ file, line_start: line, line_end: line });

async function twoReviews(broker: Broker): Promise<[string, string]> {
  const first = await raise(broker, "first prices", [
    { title: "Tax is lost", severity: "critical", type: "bug", ...at("src/price.rs", 2) },
    { title: "Name the unit", severity: "low", ...at("src/price.rs", 1) },
  ]);
  const second = await raise(broker, "second prices", [
    { title: "Tip is negative", severity: "high", ...at("src/tip.rs", 1) },
    { title: "Price is rounded", severity: "medium", ...at("src/price.rs", 1) },
  ]);
  return [first, second];
}

const row = (page: Page, title: string) => page.getByRole("row").filter({ hasText: title });

test("a person filters and groups issues, and opens one at its line", async ({ broker, page }) => {
  const [first] = await twoReviews(broker);
  await page.goto(broker.url("/i"));
  const titles = page.getByRole("row").getByRole("link");
  await expect(titles).toHaveText([/Tax is lost/, /Tip is negative/, /Price is rounded/]);
  await expect(row(page, "Tax is lost")).toContainText("blocks approval");
  await page.getByRole("button", { name: "Show low issues" }).click();
  await expect(titles).toHaveCount(4);
  await page.getByRole("radio", { name: "file" }).check({ force: true });
  await expect(page).toHaveURL(/group=file/);
  const heading = page.getByRole("button", { name: /src\/price\.rs/ });
  await expect(heading).toContainText("3 issues");
  await expect(titles).toHaveCount(4);
  await heading.click();
  await expect(titles).toHaveText([/Tip is negative/]);
  await page.reload();
  await page.getByRole("button", { name: "Blocking", exact: true }).click();
  await expect(titles).toHaveText([/Tax is lost/]);
  await titles.first().click();
  await expect(page).toHaveURL(new RegExp(`/r/${first}\\?.*finding=I-1`));
  await expect(page.getByText("Tax is lost").first()).toBeVisible();
});

test("several issues are settled at once, and each refusal says why", async ({ broker, page }) => {
  const [first] = await twoReviews(broker);
  await page.goto(broker.url("/i?severity=critical,high,medium,low"));
  for (const title of ["Tax is lost", "Name the unit"]) await row(page, title).getByRole("checkbox").check();
  await expect(page.getByText("2 selected")).toBeVisible();
  await page.getByRole("button", { name: /^Settle…/ }).click();
  const dialog = page.getByRole("dialog", { name: "Settle 2 issues" });
  await dialog.getByText("Won't fix").click();
  await expect(dialog.getByText("Say why in the note.")).toBeVisible();
  await dialog.getByRole("textbox", { name: "Note" }).fill("on purpose");
  await dialog.getByRole("button", { name: /^Settle/ }).click();
  await expect(dialog).toBeHidden();
  await expect(row(page, "Tax is lost")).toBeHidden();
  const { issues } = await broker.call("list_issues", { review_id: first });
  expect(issues.map(({ status, resolution }) => [status, resolution?.role, resolution?.note])).toEqual([
    ["wont_fix", "operator", "on purpose"],
    ["wont_fix", "operator", "on purpose"],
  ]);
});

test("a refused issue stays in the dialog with its reason, the others are settled", async ({
  broker,
  page,
  faults,
}) => {
  faults.expect(/status of 4\d\d/);
  const [first, second] = await twoReviews(broker);
  await page.goto(broker.url("/i"));
  for (const title of ["Tax is lost", "Tip is negative"]) await row(page, title).getByRole("checkbox").check();
  await page.keyboard.press("e");
  const dialog = page.getByRole("dialog", { name: "Settle 2 issues" });
  await dialog.getByText("Dispute").click();
  await dialog.getByRole("textbox", { name: "Note" }).fill("It is right as it is.");
  // The first review ends while the dialog is open.
  await broker.call("cancel_review", { review_id: first, reason: "no longer needed" });
  await dialog.getByRole("button", { name: /^Settle/ }).click();
  await expect(dialog.getByRole("alert")).toHaveText(/settled|refused/);
  await expect(dialog.getByText("✗ refused").first()).toBeVisible();
  await dialog.getByRole("button", { name: "Close" }).last().click();
  const { issues } = await broker.call("list_issues", { review_id: second });
  expect(issues.map((issue) => issue.status)).toEqual(["open", "open"]);
});

test("by keyboard alone: go there, select, settle, open", async ({ broker, page }) => {
  const [, second] = await twoReviews(broker);
  await page.goto(broker.url("/"));
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("f");
  await expect(page.getByRole("heading", { name: "Issues", level: 1 })).toBeVisible();
  await expect(row(page, "Tip is negative")).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await expect(page.getByRole("link", { name: /Tip is negative/ })).toBeFocused();
  await page.keyboard.press("x");
  await expect(page.getByText("1 selected")).toBeVisible();
  await page.keyboard.press("e");
  await expect(page.getByRole("dialog", { name: `Settle I-3 of ${second}` })).toBeVisible();
  await page.keyboard.type("done in round 2");
  await page.keyboard.press("Control+Enter");
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(row(page, "Tip is negative")).toBeHidden();
  // The row that had the focus is gone: the one in its place, then the first.
  await page.keyboard.press("k");
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/finding=I-1/);
});

test("issues become a prompt and a file", async ({ broker, page }) => {
  await twoReviews(broker);
  await page.goto(broker.url("/i?q=tip"));
  await expect(row(page, "Tip is negative")).toBeVisible();
  await expect(row(page, "Tax is lost")).toBeHidden();
  await page.getByRole("button", { name: "Copy as prompt" }).click();
  await expect(page.getByRole("dialog")).toContainText("```\nTip is negative\n```");
  await page.keyboard.press("Escape");
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download as SARIF" }).click();
  const file = await download;
  expect(file.suggestedFilename()).toBe("issues.sarif");
  const sarif = JSON.parse(readFileSync(await file.path(), "utf8"));
  expect(sarif.runs[0].results.map((result: { message: { text: string } }) => result.message.text)).toEqual([
    "Tip is negative",
  ]);
});

test("an issue that arrives moves neither scroll nor focus", async ({ broker, page }) => {
  const many = Array.from(
    { length: 40 },
    (_, n): RawFinding => ({
      title: `Issue number ${n}`,
      severity: "medium",
      ...at("src/price.rs", 1),
    }),
  );
  await raise(broker, "first prices", many.slice(0, 20));
  await raise(broker, "second prices", many.slice(20));
  await page.setViewportSize({ width: 1280, height: 500 });
  await page.goto(broker.url("/i"));
  await expect(page.getByRole("row").getByRole("link").first()).toBeVisible();
  for (let n = 0; n < 15; n++) await page.keyboard.press("j");
  const link = page.locator("a:focus");
  await expect(link).toHaveText(/Issue number/);
  const before = { text: await link.textContent(), top: await page.evaluate(() => scrollY) };
  await raise(broker, "third prices", [{ title: "Worse than all", severity: "critical", ...at("src/price.rs", 2) }]);
  const pill = page.getByRole("button", { name: /changed · show/ });
  await expect(pill).toBeVisible();
  expect({ text: await link.textContent(), top: await page.evaluate(() => scrollY) }).toEqual(before);
  await pill.click();
  await expect(page.getByRole("row").getByRole("link").first()).toHaveText(/Worse than all/);
});

test("the palette and the search page find what was said, and lead there", async ({ broker, page }) => {
  const [first] = await twoReviews(broker);
  await broker.agent("builder").say(first, "Which umlaut do you mean?", "proposer");
  await page.goto(broker.url("/"));
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  const palette = page.getByRole("searchbox", { name: "Find a review or an action" });
  await page.keyboard.press("Control+K");
  await expect(palette).toBeFocused();
  await page.keyboard.type("negative");
  await page.getByRole("menuitem", { name: /Tip is negative/ }).click();
  await expect(page).toHaveURL(/finding=I-3/);
  await page.keyboard.press("Control+K");
  await expect(palette).toBeFocused();
  await page.keyboard.type("umlaut");
  await expect(page.getByRole("menuitem", { name: /Which umlaut/ })).toBeVisible();
  await page.getByRole("menuitem", { name: /Search all texts/ }).click();
  await expect(page).toHaveURL(/\/search\?q=umlaut/);
  const result = page.getByRole("row").filter({ hasText: "Which umlaut do you mean?" });
  await expect(result.locator("mark")).toHaveText("umlaut");
  await page.getByRole("searchbox", { name: "Search in all texts" }).fill('"tip AND neg');
  await expect(page.getByRole("row").getByRole("link")).toHaveCount(0);
  await page.getByRole("searchbox", { name: "Search in all texts" }).fill("tip neg");
  await expect(page.getByRole("link", { name: /Tip is negative/ })).toBeVisible();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/finding=I-3/);
});
