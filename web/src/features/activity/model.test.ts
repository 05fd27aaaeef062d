import { describe, expect, test } from "vitest";
import { factText, hasGap, joined, type LogPage, type LogRow, newWords } from "./model";

function page(from: number, to: number, next?: string): LogPage {
  const rows: LogRow[] = [];
  for (let seq = from; seq >= to; seq -= 1) {
    rows.push({ seq, at: "", kind: "closed", actor: null, review: null, text: "", preview: null, status: null });
  }
  return { rows, next };
}

const seqs = (pages: readonly LogPage[]) => pages.flatMap(({ rows }) => rows.map(({ seq }) => seq));

describe("new events", () => {
  test("join the list in front, each once", () => {
    const list = [page(10, 6, "6"), page(5, 1)];
    const head = page(12, 8, "8");
    expect(newWords(list, head)).toBe("2 new");
    expect(seqs(joined(list, head))).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    expect(joined(list, head)[0]?.next).toBe("6");
    expect(newWords(joined(list, head), head)).toBeNull();
  });

  test("begin the list again if some are missing between", () => {
    const list = [page(10, 1)];
    const head = page(30, 21, "21");
    expect(hasGap(list, head)).toBe(true);
    expect(newWords(list, head)).toBe("10+ new");
    expect(joined(list, head)).toEqual([head]);
  });

  test("join the list if the newest page looked as far as the list, and found little", () => {
    const list = [page(10, 6, "6")];
    const head = page(12, 11, "8");
    expect(hasGap(list, head)).toBe(false);
    expect(newWords(list, head)).toBe("2 new");
    expect(seqs(joined(list, head))).toEqual([12, 11, 10, 9, 8, 7, 6]);
  });

  test("fill an empty list", () => {
    expect(seqs(joined([page(0, 1)], page(2, 1)))).toEqual([2, 1]);
  });

  test("do not make the list grow for ever", () => {
    const list = [page(2_000, 1, undefined)];
    const all = joined(list, page(2_010, 1_990, "1990"));
    expect(all).toHaveLength(1);
    expect(all[0]?.rows).toHaveLength(200);
    expect(all[0]?.next).toBe(String(2_010 - 199));
  });
});

test("facts of an event are words", () => {
  expect(factText(["a", "b"])).toBe("a, b");
  expect(factText([{ issue_id: "I-1", status: "fixed" }])).toBe("issue id I-1, status fixed");
  expect(factText(true)).toBe("yes");
  for (const nothing of [null, undefined, "", []]) expect(factText(nothing)).toBeNull();
});
