/** The diff under load, without WebAssembly, and while findings arrive. */
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "./fixtures";
import { PRICE } from "./repository";
import { findInDiff, ReviewView } from "./reviewView";

const lines = (word: string, count: number) =>
  Array.from({ length: count }, (_, n) => `let ${word}_${n} = ${n};\n`).join("");

test("ten thousand lines: the first, the last, and found ones", async ({ broker, page }) => {
  broker.repository.commit("A long file", { "src/long.rs": lines("before", 5_000) });
  const diff = broker.repository.diff({ "src/long.rs": lines("after", 5_000), "src/price.rs": `${PRICE}// last\n` });
  const review = await broker.agent("builder").propose("Ten thousand lines", { diff });
  const view = await ReviewView.open(page, broker, review);
  await expect(page.getByText("before_0 = 0").first()).toBeVisible();

  await findInDiff(page, "after_4321 ");
  await expect(page.getByText("after_4321 = 4321").first()).toBeInViewport();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("searchbox", { name: "Find in the diff" })).toBeHidden();
  await expect(page.getByText("after_4321 = 4321").first()).toBeInViewport();
  await page.keyboard.press("]");
  await expect(page.getByText("// last").first()).toBeInViewport();
  // Virtual rows: the page stays small.
  expect(await page.locator("*").count()).toBeLessThan(6_000);
  await view.expectStatus("pending");
});

test("find in the table view: typed at once, and Esc stays where the match is", async ({ broker, page }) => {
  broker.repository.commit("A long file", { "src/long.rs": lines("before", 2_000) });
  const diff = broker.repository.diff({ "src/long.rs": lines("after", 2_000) });
  const review = await broker.agent("builder").propose("Four thousand lines", { diff });
  await ReviewView.open(page, broker, review, "?diff=table");
  await expect(page.getByText("before_0 = 0").first()).toBeVisible();
  await page.keyboard.type("/after_1234 ");
  await expect(page.getByRole("searchbox", { name: "Find in the diff" })).toHaveValue("after_1234 ");
  const match = page.getByText("after_1234 = 1234").first();
  await expect(match).toBeInViewport();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("searchbox", { name: "Find in the diff" })).toBeHidden();
  await expect(match).toBeInViewport();
  // The next key of the diff starts there.
  await page.keyboard.press("ArrowDown");
  await expect(page.getByText("after_1235 = 1235").first()).toBeInViewport();
});

test("without WebAssembly the diff is shown", async ({ broker, page, faults }) => {
  // React logs why the table stands in for the coloured view.
  faults.expect(/WebAssembly/);
  await page.addInitScript(() => {
    Reflect.deleteProperty(globalThis, "WebAssembly");
  });
  const diff = broker.repository.diff({ "src/price.rs": `${PRICE}pub fn none() {}\n` });
  const review = await broker.agent("builder").propose("Add none", { diff });
  await ReviewView.open(page, broker, review);
  await expect(page.getByText("pub fn none() {}").first()).toBeVisible();
});

test("a finding that arrives moves neither scroll nor focus", async ({ broker, page }) => {
  broker.repository.commit("A long file", { "src/long.rs": lines("before", 400) });
  const diff = broker.repository.diff({ "src/long.rs": lines("after", 400) });
  const review = await broker.agent("builder").propose("Four hundred lines", { diff });
  const reviewer = broker.agent("codex");
  await reviewer.claim(review);
  const view = await ReviewView.open(page, broker, review);
  await expect(page.getByText("before_0 = 0").first()).toBeVisible();
  await findInDiff(page, "after_200 ");
  const line = page.getByText("after_200 = 200").first();
  await expect(line).toBeInViewport();
  await view.composer.fill("I am typing");
  const before = await line.boundingBox();

  // Above what is in sight, and below the line that is read.
  const finding = (line_start: number) =>
    ({ severity: "high", file: "src/long.rs", line_start, title: `Line ${line_start}` }) as const;
  await reviewer.vote(review, "comment", { reason: "Some lines.", issues: [finding(20), finding(150), finding(208)] });
  await expect(view.tab(/^Findings 3/)).toBeVisible();
  await expect(view.composer).toBeFocused();
  await expect(view.composer).toHaveValue("I am typing");
  const after = await line.boundingBox();
  expect(Math.abs((after?.y ?? 0) - (before?.y ?? Number.POSITIVE_INFINITY))).toBeLessThan(3);
});

test("every kind of change has a text", async ({ broker, page }) => {
  const { repository } = broker;
  repository.commit("More files", { "old.txt": "one\ntwo\nthree\n", "gone.txt": "gone\n", "run.sh": "#!/bin/sh\n" });
  repository.git("mv", "old.txt", "new.txt");
  repository.git("rm", "--quiet", "gone.txt");
  chmodSync(join(repository.root, "run.sh"), 0o755);
  const diff = repository.diff({ "picture.bin": "\u0000\u0001binary\u0000", "empty.txt": "" });
  const review = await broker.agent("builder").propose("All kinds", { diff });
  await ReviewView.open(page, broker, review);
  const files = page.getByRole("treegrid", { name: "Files of the diff" });
  for (const name of ["new.txt", "gone.txt", "run.sh", "picture.bin", "empty.txt"]) {
    await expect(files.getByText(name).first()).toBeVisible();
  }
  for (const words of [/renamed/i, /deleted/i, /mode/i, /binary/i, /empty/i]) {
    await expect(page.getByText(words).first()).toBeAttached();
  }
});

test("findings outside of the diff are shown too", async ({ broker, page }) => {
  const diff = broker.repository.diff({ "src/price.rs": `${PRICE}pub fn none() {}\n` });
  const review = await broker.agent("builder").propose("Add none", { diff });
  const reviewer = broker.agent("codex");
  await reviewer.claim(review);
  await reviewer.requestChanges(review, "Four places.", [
    { severity: "high", title: "On the line", file: "src/price.rs", line_start: 5 },
    { severity: "medium", title: "In another file", file: "src/cart.rs", line_start: 3 },
    { severity: "low", title: "In no file" },
    { severity: "low", title: "In a file that is not there", file: "src/nowhere.rs", line_start: 1 },
  ]);
  const view = await ReviewView.open(page, broker, review);
  for (const id of ["I-1", "I-2", "I-3", "I-4"]) await expect(view.finding(id).first()).toBeVisible();
});

test("a strip beside the diff leads to its findings", async ({ broker, page }) => {
  const lines = Array.from({ length: 400 }, (_, index) => `pub fn price_${index}() -> u32 { ${index} }`);
  const diff = broker.repository.diff({ "src/long.rs": `${lines.join("\n")}\n` });
  const review = await broker.agent("builder").propose("Add prices", { diff });
  const codex = broker.agent("codex");
  await codex.claim(review);
  const at = (line_start: number, severity: "high" | "low") =>
    ({ severity, title: `Look at ${line_start}`, file: "src/long.rs", line_start }) as const;
  await codex.requestChanges(review, "Two remarks.", [at(10, "low"), at(390, "high")]);
  const view = await ReviewView.open(page, broker, review);
  const strip = page.getByRole("navigation", { name: "Notes in the diff" });
  await expect(view.line("price_0()")).toBeVisible();
  await expect(view.line("price_389()")).toHaveCount(0);
  await strip.getByRole("button", { name: "2 of 2: 1 note, high" }).click();
  await expect(view.line("price_389()")).toBeInViewport();
  await strip.getByRole("button", { name: "1 of 2: 1 note, low" }).click();
  await expect(view.line("price_9()")).toBeInViewport();
});

test("the words that changed in a line are marked, and Shift W switches that off", async ({ broker, page }) => {
  const before = "pub const PRICE_IN_CENTS: u32 = 100;\n";
  broker.repository.commit("Prices", { "src/price.rs": before });
  const diff = broker.repository.diff({ "src/price.rs": before.replace("100", "250") });
  const review = await broker.agent("builder").propose("Raise the price", { diff });
  const view = await ReviewView.open(page, broker, review);
  const word = page.locator("[data-diff-span]", { hasText: "250" });
  await expect(view.line("250")).toBeVisible();
  await expect(word).not.toHaveCSS("background-color", "rgba(0, 0, 0, 0)");
  await page.keyboard.press("Shift+W");
  await expect(word).toHaveCSS("background-color", "rgba(0, 0, 0, 0)");
  await page.reload();
  await expect(view.line("250")).toBeVisible();
  await expect(page.getByRole("button", { name: "words" })).toHaveAttribute("aria-pressed", "false");
  await expect(word).toHaveCSS("background-color", "rgba(0, 0, 0, 0)");
  await page.getByRole("button", { name: "words" }).click();
  await expect(word).not.toHaveCSS("background-color", "rgba(0, 0, 0, 0)");
});
