import { expect, test } from "vitest";
import { parseFragment, safeNext } from "./fragment";

test("the link of `countersign open` has a code and a place to go to", () => {
  expect(parseFragment("#code=abc-1&next=/r/12")).toEqual({ code: "abc-1", next: "/r/12" });
  expect(parseFragment("#next=%2Fr%2F12%3Ftab%3Ddiff")).toEqual({ code: null, next: "/r/12?tab=diff" });
  expect(parseFragment("")).toEqual({ code: null, next: "/" });
});

test("junk in the fragment never throws", () => {
  for (const junk of [
    "#",
    "#code",
    "#code=",
    "#%",
    "#next=%E0%A4%A",
    "#&&&==",
    `#code=${"x".repeat(9_999)}`,
    "#next=/%2",
  ]) {
    expect(parseFragment(junk).next).toBe(junk === "#next=/%2" ? "/%2" : "/");
  }
});

test("after signing in the page never leaves this site", () => {
  const others = [
    "//evil.example/x",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https://evil.example/",
    "javascript:alert(1)",
    "/\t/evil.example",
    "/\n/evil.example",
    "/.//evil.example",
    "/..//evil.example",
    " /r",
    "r/12",
    "",
    null,
  ];
  for (const next of others) expect(safeNext(next), String(next)).toBe("/");
  expect(safeNext("/sign-in#code=x")).toBe("/");
  expect(safeNext("/r/12?tab=diff#I-4")).toBe("/r/12?tab=diff#I-4");
});
