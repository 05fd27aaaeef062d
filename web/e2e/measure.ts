/**
 * `cargo xtask web --measure`: the budget of the page. Sizes and counts over their limit fail; times depend on the
 * machine and are printed beside their limit.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Page } from "@playwright/test";
import { Broker } from "./broker";
import { expect, test } from "./fixtures";
import { open } from "./pages";

const DIST = join(import.meta.dirname, "../../ui/dist");
const EVENTS_PER_SECOND = 1_000;
const SECONDS = 10;
/** An hour with ten events per second. */
const EVENTS_OF_AN_HOUR = 36_000;

interface Row {
  what: string;
  measured: number;
  limit: number;
  unit: "kB" | "MB" | "ms" | "×" | "";
}

/** The rows of the running test. A size over its limit must not hide the others. */
const rows: Row[] = [];

test.setTimeout(300_000);

test.afterEach(() => {
  const lines = rows.splice(0).map(({ what, measured, limit, unit }) => {
    const [value, bound] = [measured, limit].map((number) => `${rounded(number)} ${unit}`.trim());
    const mark = measured <= limit ? "ok" : isTime(unit) ? "slow here" : "TOO MUCH";
    return `| ${what} | ${value} | ${bound} | ${mark} |`;
  });
  console.log(["| what | measured | limit | |", "|---|---|---|---|", ...lines].join("\n"));
});

function record(what: string, measured: number, limit: number, unit: Row["unit"]) {
  rows.push({ what, measured, limit, unit });
  if (!isTime(unit)) expect.soft(measured, what).toBeLessThanOrEqual(limit);
}

/** Also a ratio of times depends on the machine. */
const isTime = (unit: Row["unit"]) => unit === "ms" || unit === "×";

const rounded = (number: number) => (number < 10 ? Math.round(number * 100) / 100 : Math.round(number));

test("sizes", async ({ broker, page }) => {
  const loaded = new Set<string>();
  page.context().on("request", (request) => {
    const name = /\/assets\/[^/]+\/(.+)$/.exec(new URL(request.url()).pathname)?.[1];
    if (name !== undefined) loaded.add(name);
  });
  const sizeOfLoaded = () =>
    [...loaded].reduce((sum, name) => sum + gzipSync(readFileSync(join(DIST, "assets", name)), { level: 9 }).length, 0);

  await open(page, broker.url("/"));
  record("Inbox alone, compressed", sizeOfLoaded() / 1000, 150, "kB");
  const builder = broker.agent("builder");
  const plan = await builder.propose("A plan", { category: "plan_review", description: "# Plan\n\n1. Do it." });
  for (const path of ["/", "/r", "/start", "/preferences"]) await open(page, broker.url(path));
  record("Inbox, Reviews, Start and Preferences, compressed", sizeOfLoaded() / 1000, 180, "kB");

  // What these pages load when it is used.
  await page.goto(broker.url("/r"));
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+K");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByRole("dialog", { name: "Filters" }).waitFor();
  await open(page, broker.url(`/r/${plan}`));
  await page.keyboard.press("a");
  await page.getByRole("dialog").waitFor();
  record("everything but the diff, compressed", sizeOfLoaded() / 1000, 380, "kB");

  const diff = broker.repository.diff({ "src/price.rs": "pub const PRICE: u32 = 1;\n" });
  const review = await builder.propose("A change", { diff });
  await open(page, broker.url(`/r/${review}`));
  await page.getByText("pub const PRICE").first().waitFor();
  record("everything, compressed", sizeOfLoaded() / 1000, 750, "kB");

  const withDiff = sizeOfLoaded();
  for (const path of ["/i", "/search", "/pool", "/actors", "/log", "/stats", "/settings", "/api-docs"])
    await open(page, broker.url(path));
  record("Issues to API: eight more pages, compressed", (sizeOfLoaded() - withDiff) / 1000, 70, "kB");

  const dist = readdirSync(DIST, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const bytes = dist.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0);
  record("ui/dist", bytes / 1e6, 2.4, "MB");
});

test("times", async ({ broker, page }) => {
  await propose(broker, 60);
  await page.goto(broker.url("/"));
  await page.getByRole("link", { name: /Change 60\b/ }).waitFor();

  const painted: number[] = [];
  for (let n = 0; n < 5; n++) {
    painted.push(await paintedAfter(page, broker.url("/"), "Change 60"));
  }
  record("Inbox painted (median of 5)", median(painted), 300, "ms");

  await page.goto(broker.url("/r"));
  await page.getByRole("link", { name: /Change 60\b/ }).waitFor();
  record("key to paint in a list (worst of 40)", await keyToPaint(page, "j"), 50, "ms");

  const lines = (word: string) => Array.from({ length: 5_000 }, (_, n) => `let ${word}_${n} = ${n};\n`).join("");
  broker.repository.commit("A long file", { "src/long.rs": lines("before") });
  const diff = broker.repository.diff({ "src/long.rs": lines("after") });
  const long = await broker.agent("builder").propose("Ten thousand lines", { diff });
  const readable: number[] = [];
  for (let n = 0; n < 3; n++) {
    readable.push(await paintedAfter(page, broker.url(`/r/${long}`), "before_0"));
  }
  record("10,000-line diff readable (median of 3)", median(readable), 1_000, "ms");
  record("key to paint in that diff (worst of 40)", await keyToPaint(page, "n"), 50, "ms");
});

/** `COUNTERSIGN_STORED=FEW,MANY`: two folders that `cargo run --example fill_database` has filled. */
const [FEW, MANY] = process.env.COUNTERSIGN_STORED?.split(",") ?? [];

if (FEW !== undefined && MANY !== undefined)
  test("stored reviews", async ({ faults, page }) => {
    const brokers = await Promise.all([FEW, MANY].map((home) => Broker.start({ data: join(home, "data") })));
    const counts = await Promise.all(
      brokers.map(async (broker) => {
        faults.allowOrigin(broker.address);
        const { by_status } = await broker.call("count_reviews", {});
        return Object.values(by_status).reduce((sum, count) => sum + count, 0);
      }),
    );
    // The last review is pending, the one before it is closed.
    const visits: [what: string, path: (last: number) => string, text: (last: number) => string][] = [
      ["Inbox", () => "/", (last) => `R-${last}`],
      ["Reviews", () => "/r", (last) => `R-${last}`],
      ["closed reviews", () => "/r?status=closed", (last) => `R-${last - 1}`],
      ["search", (last) => `/r?q=change+${last / 2 + 1}`, (last) => `R-${last / 2 + 1}`],
      ["Issues", () => "/i", () => "The parser of module"],
      ["Issues by file", () => "/i?group=file", () => "src/module_"],
      ["full-text search", () => "/search?q=parser+modul", () => "The parser of module"],
      ["Activity", () => "/log", (last) => `proposed R-${last}`],
      ["the audit log of an actor", () => "/log?view=audit&actor=reviewer-7", () => "reviewer-7 claimed"],
      ["an event", () => "/log?view=audit&seq=100", () => "Link to event 100"],
      ["Stats of 30 days", () => "/stats", () => "Verdicts by persona"],
      ["Stats of all time", () => "/stats?period=all&by=reviewer", () => "Verdicts by persona"],
      ["a review", (last) => `/r/R-${last - 1}`, () => "closed the review"],
    ];
    for (const [what, path, text] of visits) {
      const times: number[][] = [[], []];
      for (let round = 0; round < 5; round++) {
        for (const [at, broker] of brokers.entries()) {
          const last = counts[at] ?? 0;
          times[at]?.push(await paintedAfter(page, broker.url(path(last)), text(last)));
        }
      }
      const [few, many] = times.map(median);
      record(`${what} with ${counts[1]} stored reviews (median of 5)`, many ?? Number.NaN, 400, "ms");
      record(`${what}, against ${counts[0]}`, (many ?? Number.NaN) / (few ?? Number.NaN), 1.3, "×");
    }
    faults.stop();
    await Promise.all(brokers.map((broker) => broker.remove()));
  });

test("events", async ({ broker, page }) => {
  const reviews = await propose(broker, 50);
  const events = await injectedEvents(page, broker, reviews);
  let requests = 0;
  page.on("request", (request) => {
    if (request.url().includes("/api/")) requests += 1;
  });

  await open(page, broker.url("/"));
  requests = 0;
  await events.send(EVENTS_PER_SECOND, SECONDS);
  record("requests during 1,000 events/s for 10 s", requests, 40, "");

  await events.send(EVENTS_OF_AN_HOUR / 10, 10);
  const browser = await page.context().newCDPSession(page);
  await browser.send("HeapProfiler.enable");
  await browser.send("HeapProfiler.collectGarbage");
  const { usedSize } = await browser.send("Runtime.getHeapUsage");
  record("heap after an hour of events", usedSize / 1e6, 60, "MB");
});

/** Proposes so many changes without a diff. */
async function propose(broker: Broker, count: number): Promise<string[]> {
  const builder = broker.agent("builder");
  const numbers = [];
  for (let n = 1; n <= count; n++) numbers.push(await builder.propose(`Change ${n}`));
  return numbers;
}

/** Milliseconds from the start of the navigation until the text is painted, also inside of shadow roots. */
async function paintedAfter(page: Page, address: string, text: string): Promise<number> {
  await page.goto(address, { waitUntil: "commit" });
  // Asked in each frame of the page: the way to Playwright and back takes longer than a frame.
  const painted = await page.waitForFunction((wanted) => {
    const roots = [...document.querySelectorAll("*")].flatMap(({ shadowRoot }) => shadowRoot ?? []);
    const isShown = [document.body, ...roots].some((root) => root?.textContent?.includes(wanted) === true);
    // It runs before a paint, so what the last frame had is on the screen now.
    const wasShown = Reflect.get(globalThis, "wasShown") === true;
    Reflect.set(globalThis, "wasShown", isShown);
    return wasShown && isShown ? performance.now() : null;
  }, text);
  return Number(await painted.jsonValue());
}

/** The longest time from a key to the next paint, as the browser measures it. */
async function keyToPaint(page: Page, key: string): Promise<number> {
  await page.evaluate(() => {
    const times: number[] = [];
    Object.assign(globalThis, { keyTimes: times });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (entry.name === "keydown") times.push(entry.duration);
    }).observe({ type: "event", durationThreshold: 16, buffered: false } as PerformanceObserverInit);
  });
  for (let n = 0; n < 40; n++) await page.keyboard.press(key);
  // Entries arrive after the paint that ends them.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestIdleCallback(done))));
  return page.evaluate(() => Math.max(16, ...(globalThis as unknown as { keyTimes: number[] }).keyTimes));
}

/** Adds events to the page's own connection, more than a debug broker could cause. */
async function injectedEvents(page: Page, broker: Broker, reviews: string[]) {
  const ids = await Promise.all(
    reviews.map(async (review) => (await broker.call("get_review_status", { review_id: review })).review_id),
  );
  await page.addInitScript(() => {
    globalThis.WebSocket = class extends WebSocket {
      constructor(...given: ConstructorParameters<typeof WebSocket>) {
        super(...given);
        Reflect.set(globalThis, "liveSocket", this);
      }
    };
  });
  const template = { type: "review_updated", kind: "created", at: new Date().toISOString(), text: "a change" };
  // After everything that the broker sends by itself.
  let seq = 1_000_000;
  const deliver = (frames: string[]) =>
    page.evaluate((all) => {
      const socket: WebSocket = Reflect.get(globalThis, "liveSocket");
      for (const data of all) socket.dispatchEvent(new MessageEvent("message", { data }));
    }, frames);
  return {
    /** Sends what is due by the clock, so that a busy machine gets larger portions and not a longer test. */
    async send(perSecond: number, seconds: number) {
      const began = performance.now();
      for (let sent = 0; sent < perSecond * seconds; ) {
        await new Promise((done) => setTimeout(done, 50));
        const due = Math.floor(Math.min(seconds, (performance.now() - began) / 1_000) * perSecond) - sent;
        sent += due;
        const numbers = Array.from({ length: due }, () => ++seq);
        await deliver(numbers.map((n) => JSON.stringify({ ...template, seq: n, review_id: ids[n % ids.length] })));
      }
      // The last of them are loaded seconds later.
      await new Promise((done) => setTimeout(done, 10_000));
      await page.waitForLoadState("networkidle");
    },
  };
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}
