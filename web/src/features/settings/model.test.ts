import { expect, test } from "vitest";
import type { Setting } from "../../api/generated";
import { panelRules, sectionsOf, valueArgument, valueWords } from "./model";
import { parseSettingsSearch } from "./search";

const setting = (name: string, value: unknown, more: Partial<Setting> = {}): Setting => ({
  name,
  value,
  layer: "default",
  ...more,
});

const settings = [
  setting("claims.lease", "10m", { layer: "user_file", description: "How long a claim lasts." }),
  setting("claims.other", 3),
  setting("server.hosts", ["a.example", "b.example"]),
];

test("settings are grouped by section and found by every word", () => {
  expect(sectionsOf(settings, {}).map(({ name, settings: all }) => [name, all.length])).toEqual([
    ["claims", 2],
    ["server", 1],
  ]);
  const found = (q: string) =>
    sectionsOf(settings, { q }).flatMap((section) => section.settings.map(({ name }) => name));
  expect(found("LASTS claim")).toEqual(["claims.lease"]);
  expect(found("b.example")).toEqual(["server.hosts"]);
  expect(found("b.example lasts")).toEqual([]);
  expect(sectionsOf(settings, { changed: true })).toEqual([{ name: "claims", settings: [settings[0]] }]);
});

test("values are shown as the command line prints and takes them", () => {
  expect([valueWords(""), valueWords([]), valueWords(["a", "b"]), valueWords(true)]).toEqual([
    '""',
    "[]",
    "a, b",
    "true",
  ]);
  expect(valueWords([{ paths: ["a"] }])).toBe('[{"paths":["a"]}]');
  expect([valueArgument(3), valueArgument(["a", "b"]), valueArgument([{}])]).toEqual(["3", "a, b", null]);
});

test("a rule of the panel is a sentence", () => {
  const rules = panelRules([
    { personas: ["architecture"], paths: ["migrations/**", "*.sql"], category: "code_change", required: true },
    { personas: ["tests"], replace: true },
    "not a rule",
    { paths: [] },
  ]);
  expect(rules).toEqual([
    {
      personas: ["architecture"],
      when: "the kind is code change and a changed file matches migrations/** or *.sql",
      remarks: ["must approve, also if the proposer names others"],
    },
    { personas: ["tests"], when: "always", remarks: ["in place of the default personas"] },
  ]);
  expect(panelRules(null)).toEqual([]);
});

test("an address of the settings never throws", () => {
  expect(parseSettingsSearch({ q: "lease", changed: "true" })).toEqual({ q: "lease", changed: true });
  expect(parseSettingsSearch({ q: 8321 })).toEqual({ q: "8321" });
  expect(parseSettingsSearch({ q: "", changed: "no" })).toEqual({});
  expect(parseSettingsSearch({ q: {}, changed: Symbol.iterator })).toEqual({});
});
