// @vitest-environment happy-dom
import { beforeEach, expect, test } from "vitest";
import { type KeptDraft, moveDraft, putDraft, readDrafts, removeDraft, titleOf, toFindings } from "./drafts";

const draft = (id: string, more: Partial<KeptDraft> = {}): KeptDraft => ({
  id,
  hash: "aaaa",
  kind: "finding",
  place: { in: "diff", path: "a.rs", side: "new", start: 3, end: 5 },
  round: 1,
  severity: "high",
  title: "Off by one",
  text: "The last line is lost.",
  suggestion: "",
  ...more,
});

beforeEach(() => localStorage.clear());

test("drafts are kept by content, changed and removed one by one", () => {
  putDraft("r1", draft("a"));
  putDraft("r1", draft("b", { hash: "bbbb", round: 2 }));
  putDraft("r2", draft("c"));
  putDraft("r1", draft("a", { title: "Changed" }));
  expect(readDrafts("r1").map(({ id, hash, title }) => [id, hash, title])).toEqual([
    ["a", "aaaa", "Changed"],
    ["b", "bbbb", "Off by one"],
  ]);
  removeDraft("r1", { id: "a", hash: "aaaa" });
  expect(readDrafts("r1").map(({ id }) => id)).toEqual(["b"]);
  expect(readDrafts("r2")).toHaveLength(1);
});

test("a draft of an earlier round can be moved to this one", () => {
  const old = draft("a");
  putDraft("r1", old);
  moveDraft("r1", old, { hash: "bbbb", round: 2, place: { ...old.place, start: 9, end: 9 } });
  expect(readDrafts("r1")).toEqual([draft("a", { hash: "bbbb", round: 2, place: { ...old.place, start: 9, end: 9 } })]);
});

test("what was edited by hand or by another version is ignored", () => {
  localStorage.setItem("countersign.v1.draft.r1.aaaa", '[{"id":"x"}]');
  localStorage.setItem("countersign.v1.draft.r1.bbbb", "not json");
  expect(readDrafts("r1")).toEqual([]);
});

test("findings as a verdict takes them", () => {
  const { issues, suggestions } = toFindings([
    draft("a"),
    draft("b", {
      severity: "suggestion",
      title: "",
      text: "A better name\nwould help",
      place: { in: "description", path: null, side: "new", start: 2, end: 2 },
    }),
    draft("c", { title: " ", text: "" }),
    draft("d", { kind: "message" }),
    draft("e", { place: { in: "diff", path: "b.rs", side: "old", start: 1, end: null }, text: "" }),
  ]);
  expect(issues).toEqual([
    {
      title: "Off by one",
      description: "The last line is lost.",
      severity: "high",
      file: "a.rs",
      line_start: 3,
      line_end: 5,
    },
    { title: "Off by one", severity: "high", file: "b.rs", side: "old", line_start: 1, line_end: 1 },
  ]);
  expect(suggestions).toEqual([
    { title: "A better name", description: "A better name\nwould help", in: "description", line_start: 2, line_end: 2 },
  ]);
});

test("a title is one line", () => {
  expect(titleOf({ title: "", text: "first\nsecond" })).toBe("first");
  expect(titleOf({ title: "x".repeat(200), text: "" })).toHaveLength(120);
});
