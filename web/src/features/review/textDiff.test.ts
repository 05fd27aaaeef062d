import { expect, test } from "vitest";
import { diffItems, diffTexts } from "./textDiff";

const plain = (before: string, after: string) =>
  diffTexts(before, after).map(
    ({ kind, pieces }) => ({ same: " ", added: "+", removed: "-" })[kind] + pieces.map((p) => p.text).join(""),
  );

test("lines that were added and removed", () => {
  expect(plain("a\nb\nc", "a\nc\nd")).toEqual([" a", "-b", " c", "+d"]);
  expect(plain("", "a")).toEqual(["+a"]);
  expect(plain("a", "")).toEqual(["-a"]);
  expect(plain("a\nb", "a\nb")).toEqual([" a", " b"]);
});

test("both texts can be read off the result", () => {
  const [before, after] = ["one two\nthree\n\nfour five\nsix", "one 2\nthree\nfour six\n\nsix\nseven"];
  const changes = diffTexts(before, after);
  const side = (skip: string) =>
    changes
      .filter(({ kind }) => kind !== skip)
      .map(({ pieces }) => pieces.map(({ text }) => text).join(""))
      .join("\n");
  expect(side("added")).toBe(before);
  expect(side("removed")).toBe(after);
  expect(changes.filter((change) => change.new !== null).map((change) => change.new)).toEqual([1, 2, 3, 4, 5, 6]);
});

test("words that differ are marked in a changed line", () => {
  const [removed, added] = diffTexts("Keep the cache for one hour.", "Keep the cache for two hours.");
  expect(removed?.pieces.filter(({ kind }) => kind === "removed").map(({ text }) => text)).toEqual(["one", "hour"]);
  expect(added?.pieces.filter(({ kind }) => kind === "added").map(({ text }) => text)).toEqual(["two", "hours"]);
  expect(diffTexts("alpha", "omega")[0]?.pieces).toEqual([{ kind: "removed", text: "alpha" }]);
});

test("very different long texts are compared without much work", () => {
  const many = (word: string) => Array.from({ length: 3_000 }, (_, index) => `${word} ${index}`);
  const steps = diffItems(["same", ...many("a")], ["same", ...many("b")]);
  expect(steps).toHaveLength(6_001);
  expect(steps[0]).toEqual({ kind: "same", item: "same" });
});
