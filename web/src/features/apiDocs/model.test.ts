import { expect, test } from "vitest";
import document from "../../../../docs/openapi.json";
import { operations as table } from "../../api/generated";
import { commands } from "./commands";
import { addressOf, byNoun, curlLine, exampleOf, readDocument, typeWords } from "./model";
import { parseApiDocsSearch } from "./search";

const { operations, types } = readDocument(document);
const find = (id: string) => {
  const found = operations.find((operation) => operation.id === id);
  if (found === undefined) throw new Error(`no ${id}`);
  return found;
};

test("every route of the client is an operation with a title, a noun and, if it answers JSON, a type", () => {
  const ids = operations.map(({ id }) => id);
  expect(Object.keys(table).filter((id) => !ids.includes(id))).toEqual([]);
  for (const { id, title, noun, description } of operations) {
    expect([id, title !== "" && noun !== "" && description !== ""]).toEqual([id, true]);
  }
  expect(typeWords(find("get_review_status").answer ?? undefined)).toBe("ReviewStatusResponse");
});

test("arguments come from path, query, header and body, required ones first", () => {
  const [first, ...rest] = find("submit_verdict").arguments;
  expect(first).toMatchObject({ name: "review_id", place: "path", isRequired: true });
  expect(rest.find(({ name }) => name === "verdict")).toMatchObject({ place: "body", isRequired: true });
  expect(rest.find(({ name }) => name === "If-Match")).toMatchObject({ place: "header", isRequired: false });
});

test("operations are found by words of names, paths and descriptions", () => {
  const found = (q: string) => byNoun(operations, q).flatMap(([, all]) => all.map(({ id }) => id));
  expect(found("redeliver")).toContain("redeliver");
  expect(found("webhook dead limit")).toEqual(["list_dead_deliveries"]);
  expect(found("no such words")).toEqual([]);
});

test("an example has all that is required", () => {
  const api = "http://127.0.0.1:8321";
  expect(curlLine(find("get_review_status"), types, api)).toBe(`curl -s '${api}/api/v1/reviews/R-12/status'`);
  const verdict = curlLine(find("submit_verdict"), types, api);
  expect(verdict).toContain(`curl -s -X POST '${api}/api/v1/reviews/R-12/verdict'`);
  expect(verdict).toMatch(/"verdict":"(approved|changes_requested|rejected|comment)"/);
  const file = curlLine(find("get_file"), types, api);
  expect(file).toMatch(/files\?path=a\+path&side=(old|new)/);
  expect(exampleOf({ name: "x", schema: { type: "array" } }, types)).toEqual([]);
});

test("an address is made of the values that were given", () => {
  const status = find("get_review_status");
  expect(addressOf(status, new Map())).toBeNull();
  const values = new Map([
    ["review_id", "R 1"],
    ["at", "2"],
    ["since", " "],
  ]);
  expect(addressOf(status, values)).toBe("/api/v1/reviews/R%201/status?at=2");
});

test("a wrong document and a wrong address give nothing instead of an error", () => {
  expect(readDocument(null)).toEqual({ operations: [], types: {} });
  expect(readDocument({ paths: { "/x": { get: 3 } } }).operations).toHaveLength(1);
  expect(parseApiDocsSearch({ q: "x", op: "get_config" })).toEqual({ q: "x", op: "get_config" });
  expect(parseApiDocsSearch({ q: 3, op: "<b>" })).toEqual({});
});

test("commands are those of operations that exist", () => {
  const ids = new Set(operations.map(({ id }) => id));
  expect(Object.keys(commands).filter((id) => !ids.has(id))).toEqual([]);
});
