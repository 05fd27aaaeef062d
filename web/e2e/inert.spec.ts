/** Texts of agents stay texts, whatever they contain and in whichever field they arrive. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import type { Broker } from "./broker";
import { expect, test } from "./fixtures";
import { HOSTILE_LINES, HOSTILE_TEXT, HOSTILE_TEXTS } from "./hostile";
import { open } from "./pages";
import { poolOf, untilPool } from "./pool";

/** Characters that hide or reorder text. */
const HIDDEN = /(?![\t\n\r])[\p{Cc}\u200b\u202a-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/u;

test("titles and names", async ({ broker, page }) => {
  for (const line of HOSTILE_LINES) await broker.agent(name(line)).propose(line);
  for (const path of ["/", "/r", "/r?q=script", "/log", "/log?view=audit", "/log?seq=1", "/stats?by=reviewer"]) {
    await open(page, broker.url(path));
    await expectInert(page);
  }
  for (const number of HOSTILE_LINES.keys()) {
    await open(page, broker.url(`/r/R-${number + 1}`));
    await expectInert(page);
  }
});

test("every field of every tool", async ({ broker, page }) => {
  const reviews = [await everything(broker), await unappliable(broker), await plan(broker)];
  reviews.push(await cancelled(broker), await commits(broker));
  for (const review of reviews) {
    for (const path of [`/r/${review}`, `/r/${review}?at=1`]) {
      await open(page, broker.url(path));
      await expectInert(page);
    }
  }
  const { events } = await broker.call("get_audit_log", { limit: 200 });
  const eventsOnce = new Map(events.map(({ kind, seq }) => [kind, `/log?view=audit&seq=${seq}`]));
  for (const path of ["/", "/r", "/log", "/stats", "/stats?by=reviewer", ...eventsOnce.values()]) {
    await open(page, broker.url(path));
    await expectInert(page);
  }
  const all = "status=any&reviews=all&severity=critical,high,medium,low";
  for (const path of [`/i?${all}`, `/i?${all}&group=file`, `/i?${all}&group=review`]) {
    await open(page, broker.url(path));
    await expectInert(page);
  }
  await page.getByRole("button", { name: "Copy as prompt" }).click();
  await expect(page.getByRole("dialog")).toContainText("window.attacked");
  await expectInert(page);
  for (const words of ["attacked", "script", "safe", "red", "img onerror"]) {
    await open(page, broker.url(`/search?q=${words}`));
    await expectInert(page);
  }
});

test("addresses", async ({ broker, page, faults }) => {
  // The broker refuses hidden characters in a search.
  faults.expect(/status of 422/);
  await broker.agent("builder").propose("A change");
  const hostile = encodeURIComponent(`"><img src=x onerror="window.attacked=1">\u202e`);
  const paths = [
    `/log?actor=${hostile}&kind=${hostile}`,
    `/stats?project=${hostile}&by=${hostile}`,
    `/r?q=${hostile}&status=${hostile}`,
    `/r/1?file=${hostile}&line=${hostile}&round=${hostile}&at=${hostile}`,
    `/settings?q=${hostile}&changed=${hostile}`,
    `/api-docs?q=${hostile}&op=${hostile}`,
    `/i?q=${hostile}&file=${hostile}&persona=${hostile}&group=${hostile}`,
    `/search?q=${hostile}&in=${hostile}`,
  ];
  for (const path of paths) {
    await open(page, broker.url(path));
    await expectInert(page);
  }
});

test.describe("the output of a reviewer", () => {
  // Its program has to fit into a setting, so the text is in a file.
  const folder = mkdtempSync(join(tmpdir(), "countersign-hostile-"));
  const file = join(folder, "text");
  writeFileSync(file, HOSTILE_TEXT);
  test.afterAll(() => rmSync(folder, { recursive: true }));
  const command = ["sh", "-c", `cat '${file}'; cat '${file}' >&2; exit 3`];
  test.use({ brokerOptions: { settings: poolOf(command, "max_failures = 1") } });

  test("in its log, its last words and the tree of actors", async ({ broker, page }) => {
    await broker.agent("builder").propose("Waits in vain");
    await untilPool(broker, ({ state }) => state === "crash_loop");
    const reviewer = (await broker.call("list_reviewers", {})).ended[0]?.reviewer_id ?? "";
    for (const path of ["/", "/r", "/pool", `/pool/${reviewer}`, "/actors"]) {
      await open(page, broker.url(path));
      for (const fold of await page.getByRole("button", { name: "Its last words" }).all()) await fold.click();
      await expectInert(page);
    }
    await open(page, broker.url(`/pool/${reviewer}?q=attacked`));
    // Colours are understood, everything else stays text.
    const log = page.getByRole("log");
    await expect(log.getByText("red", { exact: true }).first()).toHaveClass(/text-bad/);
    await expect(log).toContainText("]8;;javascript:window.attacked=1");
    await expectInert(page);
  });
});

async function expectInert(page: Page) {
  const found = await page.evaluate(() => {
    const elements: Element[] = [];
    const roots: (Document | ShadowRoot)[] = [document];
    for (const root of roots) {
      for (const element of root.querySelectorAll("*")) {
        elements.push(element);
        if (element.shadowRoot !== null) roots.push(element.shadowRoot);
      }
    }
    const links = elements.flatMap((element) => element.getAttribute("href") ?? element.getAttribute("src") ?? []);
    const handlers = elements.filter((element) => element.getAttributeNames().some((name) => name.startsWith("on")));
    const texts = roots.map((root) =>
      root instanceof Document ? (root.body.textContent ?? "") : (root.textContent ?? ""),
    );
    const names = ["title", "aria-label", "aria-valuetext", "placeholder"];
    return {
      attacked: (globalThis as { attacked?: unknown }).attacked ?? null,
      links: links.filter((link) => !/^(https?:|\/|#|\.)/.test(link)),
      outsideImages: elements
        .filter((one) => one.tagName === "IMG" && new URL((one as HTMLImageElement).src).origin !== location.origin)
        .map((one) => one.outerHTML),
      embedded: elements
        .filter((one) => /^(IFRAME|OBJECT|EMBED|BASE|META)$/.test(one.tagName) || one.hasAttribute("action"))
        .map((one) => one.outerHTML),
      handlers: handlers.map((element) => element.outerHTML.slice(0, 200)),
      text: texts.join("\n"),
      title: document.title,
      attributes: elements.flatMap((element) => names.flatMap((name) => element.getAttribute(name) ?? [])),
    };
  });
  expect(found.attacked, "a script ran").toBeNull();
  expect(found.links, "links that are not addresses").toEqual([]);
  expect(found.outsideImages, "images").toEqual([]);
  expect(found.handlers, "event handlers in attributes").toEqual([]);
  expect(found.embedded.filter((html) => !/^<meta (charset|name="(viewport|color-scheme)")/.test(html))).toEqual([]);
  expect(HIDDEN.exec(found.text)?.[0].codePointAt(0), "a hidden character").toBeUndefined();
  expect(
    found.attributes.filter((text) => HIDDEN.test(text)),
    "hidden characters in attributes",
  ).toEqual([]);
  expect(HIDDEN.exec(found.title)?.[0].codePointAt(0), "a hidden character in the title").toBeUndefined();
}

/** A name as the broker accepts it: at most 200 characters, none of them hidden. */
const name = (text: string) => [...text.replace(/[\p{Cc}\p{Cf}]/gu, "")].slice(0, 150).join("").trim() || "blank";

/** A review with hostile texts in every field that the broker accepts. */
async function everything(broker: Broker): Promise<string> {
  const [first = "", second = "", third = ""] = HOSTILE_LINES;
  const path = `src/${first.replaceAll("/", "_")}.rs`;
  const diff = broker.repository.diff({ [path]: HOSTILE_TEXT, "src/price.rs": `${HOSTILE_TEXT}\n` });
  const builder = broker.agent(name(third));
  const review = await builder.propose(`${first} ${second}`, {
    agent_type: name(first),
    agent_role: name(second),
    phase: name(first),
    plan: name(second),
    task: name(third),
    description: HOSTILE_TEXT,
    diff,
  });
  const reviewer = broker.agent(name(second));
  await reviewer.claim(review);
  const issues = HOSTILE_LINES.slice(0, 20).map((line, n) => ({
    severity: (["critical", "high", "medium", "low"] as const)[n % 4] ?? "low",
    title: name(line),
    description: HOSTILE_TEXTS[n] ?? "",
    suggestion: line,
    code_snippet: line,
    rule_ref: name(line),
    ...(n % 3 === 0
      ? { file: "src/price.rs", line_start: n + 1 }
      : n % 3 === 1
        ? { file: path, line_start: n + 1 }
        : {}),
  }));
  const counter_patch = broker.repository.diff({ [path]: `${HOSTILE_TEXT}\nbetter\n` });
  await reviewer.vote(review, "changes_requested", {
    reason: HOSTILE_TEXT,
    summary: first,
    issues,
    suggestions: HOSTILE_LINES.slice(0, 5).map((title) => ({ title: name(title), description: title })),
    metrics: { model: name(first), cost_usd: 0.01 },
    counter_patch,
  });
  const { issues: open } = await broker.call("list_issues", { review_id: review });
  for (const [n, issue] of open.slice(0, 3).entries()) {
    const status = (["fixed", "wont_fix", "open"] as const)[n] ?? "open";
    const update = { review_id: review, issue_id: issue.issue_id, note: HOSTILE_TEXT, caller_id: reviewer.name };
    await broker.call("update_issue", { ...update, status, role: "reviewer" });
  }
  await builder.say(review, HOSTILE_TEXT, "proposer", { metadata: { [first]: second } });
  for (const line of HOSTILE_LINES) {
    const anchor = { file: path, line_start: 1 };
    await broker.call("add_message", {
      review_id: review,
      body: line,
      sender_role: "operator",
      caller_id: name(line),
      anchor,
    });
  }
  await builder.revise(review, second, { change_note: HOSTILE_TEXT, diff, description: `${HOSTILE_TEXT}\n\nSecond.` });
  await reviewer.claim(review);
  await broker.call("release_claim", { review_id: review, reviewer_id: reviewer.name, reason: HOSTILE_TEXT });
  return review;
}

/** Git's message about the diff contains its texts. */
async function unappliable(broker: Broker): Promise<string> {
  const line = HOSTILE_LINES[1] ?? "";
  const path = `src/${line.replaceAll("/", "_")}`;
  const diff = `--- "a/${path.replaceAll('"', '\\"')}"\n+++ "b/${path.replaceAll('"', '\\"')}"\n@@ -1 +1 @@\n-${line}\n+better\n`;
  const review = await broker.agent("builder").propose(line, { diff });
  await broker.agent("reviewer").claim(review);
  return review;
}

async function plan(broker: Broker): Promise<string> {
  const builder = broker.agent("planner");
  const review = await builder.propose("A plan", { category: "plan_review", description: HOSTILE_TEXT });
  const reviewer = broker.agent("reviewer");
  await reviewer.claim(review);
  const issues = [1, 3, 9].map((line_start) => ({
    severity: "high" as const,
    in: "description" as const,
    line_start,
    title: HOSTILE_LINES[line_start] ?? "",
  }));
  await reviewer.requestChanges(review, HOSTILE_TEXT, issues);
  await builder.revise(review, "A plan", { description: `${HOSTILE_TEXT}\n\n<b>changed</b>` });
  return review;
}

async function cancelled(broker: Broker): Promise<string> {
  const review = await broker.agent("builder").propose("Withdrawn");
  await broker.call("cancel_review", { review_id: review, reason: HOSTILE_TEXT });
  return review;
}

/** Branch names and subjects of commits. */
async function commits(broker: Broker): Promise<string> {
  const { repository } = broker;
  const branch = "<img/src=x/onerror=window.attacked=1>";
  repository.git("switch", "--quiet", "--create", branch);
  for (const [n, line] of HOSTILE_LINES.slice(0, 20).entries())
    repository.commit(line, { "src/price.rs": `// ${n}\n` });
  repository.git("switch", "--quiet", "main");
  return broker.agent("builder").propose("A branch", { target: { branch } });
}
