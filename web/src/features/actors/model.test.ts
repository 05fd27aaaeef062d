import { expect, test } from "vitest";
import type { ActorNode, Actors } from "../../api/generated";
import { GROWS_MS, moved, NO_HISTORY, nameOf, observe, rowsOf, warningsOf } from "./model";

const node = (kind: string, id: string, more: Partial<ActorNode> = {}): ActorNode => ({
  kind,
  id,
  state: "running",
  mailbox: 0,
  handled: 7,
  restarts: 0,
  uptime_ms: 1000,
  last_error: null,
  children: [],
  ...more,
});

const tree = (mailbox: number, restarts = 0): ActorNode =>
  node("supervisor", "-", {
    children: [
      node("gateway", "-", { mailbox }),
      node("group", "reviews", { restarts, children: [node("review", "R-1"), node("review", "R-2")] }),
    ],
  });

const actors = (root: ActorNode): Actors => ({
  root,
  store: { commits: 1, changes: 2, waiting: 0 },
  calls: { in_flight: 0, waiting: 0 },
  more_reviews: 0,
});

const paths = (closed: string[], query = "") => rowsOf(tree(0), new Set(closed), query).map(({ path }) => nameOf(path));

test("the tree becomes rows; a closed actor hides what is below it", () => {
  expect(paths([])).toEqual(["supervisor -", "gateway -", "group reviews", "review R-1", "review R-2"]);
  expect(paths(["/supervisor -/group reviews"])).toEqual(["supervisor -", "gateway -", "group reviews"]);
  expect(rowsOf(tree(0), new Set(), "").map(({ level }) => level)).toEqual([1, 2, 2, 3, 3]);
});

test("a search shows what matches and everything above it, also below closed actors", () => {
  expect(paths(["/supervisor -/group reviews"], "r-2")).toEqual(["supervisor -", "group reviews", "review R-2"]);
  expect(paths([], "nothing of this name")).toEqual([]);
});

test("a mailbox that grows for thirty seconds is a warning, and ends when it becomes shorter", () => {
  let history = NO_HISTORY;
  const warnings: string[][] = [];
  for (const [seconds, mailbox] of [
    [0, 1],
    [10, 4],
    [29, 4],
    [30, 9],
    [32, 3],
    [70, 3],
  ] as const) {
    const seen = actors(tree(mailbox));
    history = observe(history, seen, seconds * 1000);
    warnings.push(warningsOf(history, seen).map(({ path, words }) => `${nameOf(path)}: ${words}`));
  }
  const grown = `gateway -: its mailbox has grown for ${GROWS_MS / 1000} s, from 1 to 9 messages`;
  // Messages that merely wait are no growth.
  expect(warnings).toEqual([[], [], [], [grown], [], []]);
});

test("an empty mailbox is never a warning", () => {
  const seen = actors(tree(0));
  const history = observe(observe(NO_HISTORY, seen, 0), seen, 60_000);
  expect(warningsOf(history, seen)).toEqual([]);
});

test("a restart is a warning, and one that happens while the page is open says so", () => {
  const before = actors(tree(0, 2));
  let history = observe(NO_HISTORY, before, 0);
  expect(warningsOf(history, before).map(({ words }) => words)).toEqual(["restarted 2 times"]);
  const after = actors(tree(0, 3));
  history = observe(history, after, 2000);
  expect(warningsOf(history, after).map(({ words }) => words)).toEqual(["restarted once since you opened this page"]);
});

test("the arrows move along the rows, and open and close", () => {
  const rows = rowsOf(tree(0), new Set(["/supervisor -/group reviews"]), "");
  const group = "/supervisor -/group reviews";
  expect(moved(rows, "/supervisor -", "ArrowDown")).toEqual({ focus: "/supervisor -/gateway -" });
  expect(moved(rows, group, "ArrowDown")).toEqual({ focus: group });
  expect(moved(rows, group, "ArrowRight")).toEqual({ toggle: group });
  expect(moved(rows, group, "ArrowLeft")).toEqual({ focus: "/supervisor -" });
  expect(moved(rows, "/supervisor -", "ArrowLeft")).toEqual({ toggle: "/supervisor -" });
  expect(moved(rows, "/supervisor -", "ArrowRight")).toEqual({ focus: "/supervisor -/gateway -" });
  expect(moved(rows, group, "Home")).toEqual({ focus: "/supervisor -" });
  expect(moved(rows, "gone", "End")).toEqual({ focus: group });
  expect(moved(rows, "/supervisor -/gateway -", "Enter")).toBeNull();
  expect(moved(rows, group, "x")).toBeNull();
});
