// @vitest-environment happy-dom
import { afterEach, expect, it, vi } from "vitest";
import { keysWithPrefix } from "../../storage";
import { type PatchFile, parsePatch } from "./patch";
import { TEST_PATCH } from "./testPatch";
import { readMarks, setViewed, viewedState } from "./viewed";

const file = (text: string): PatchFile => {
  const found = parsePatch(text).files[0];
  if (found === undefined) throw new Error("no file");
  return found;
};

afterEach(() => {
  vi.unstubAllGlobals();
  localStorage.clear();
});

it("forgets a mark when the file changes", () => {
  const first = file(TEST_PATCH);
  setViewed("r1", first, true, 1);
  expect(viewedState(first, readMarks("r1"))).toBe("viewed");
  expect(viewedState(first, readMarks("r2"))).toBe("no");
  expect(viewedState(file(TEST_PATCH.replace("= 20", "= 30")), readMarks("r1"))).toBe("changed");
  setViewed("r1", first, false, 2);
  expect(viewedState(first, readMarks("r1"))).toBe("no");
});

it("takes any stored text", () => {
  for (const text of ["", "{", "null", "[]", '{"at":1,"hashes":{"src/exec.rs":1}}', '{"at":1,"hashes":null}']) {
    localStorage.setItem("countersign.v1.viewed.r1", text);
    expect(readMarks("r1")).toEqual({});
  }
  const odd = { ...file(TEST_PATCH), path: "__proto__" };
  setViewed("r1", odd, true, 1);
  expect(viewedState(odd, readMarks("r1"))).toBe("viewed");
  expect(viewedState({ ...odd, path: "toString" }, readMarks("r1"))).toBe("no");
});

it("says that a mark could not be stored", () => {
  const refuse = () => {
    throw new Error("full");
  };
  vi.stubGlobal("localStorage", { getItem: refuse, setItem: refuse, removeItem: refuse, clear: () => undefined });
  expect(setViewed("r1", file(TEST_PATCH), true, 1)).toBe(false);
});

it("keeps the marks of the last 100 reviews", () => {
  for (let review = 0; review < 130; review += 1) setViewed(`r${review}`, file(TEST_PATCH), true, review);
  const kept = keysWithPrefix("viewed.");
  expect(kept.length).toBeLessThanOrEqual(100);
  expect(kept).toContain("viewed.r129");
  expect(kept).not.toContain("viewed.r0");
});
