import { expect, test } from "vitest";
import { nameError } from "./NameForm";

test("a name can be seen", () => {
  expect(nameError("ann")).toBeNull();
  expect(nameError("Jürgen Müller")).toBeNull();
  for (const bad of ["", "a\u202eb", "a\nb", "a\u200bb", "x".repeat(201)]) expect(nameError(bad)).not.toBeNull();
});
