import { expect, test } from "vitest";
import { framesIn } from "./logStream";

test("frames are read however the stream is cut", () => {
  const text =
    'id: 7\nevent: log\ndata: {"text":"a\\n\\nb","next":7}\n\n:\n\nevent: end\ndata: {"reason":"complete","next":7}\n\n';
  const whole = framesIn(text);
  expect(whole.rest).toBe("");
  expect(whole.found).toEqual([
    { kind: "part", part: { text: "a\n\nb", next: 7 } },
    { kind: "end", reason: "complete" },
  ]);
  const found = [];
  let rest = "";
  for (const character of text) {
    const step = framesIn(rest + character);
    found.push(...step.found);
    rest = step.rest;
  }
  expect(found).toEqual(whole.found);
});
