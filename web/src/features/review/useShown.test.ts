import { expect, test } from "vitest";
import { previousRound } from "./seen";
import { shownContent } from "./useShown";

const hashes = new Map([
  [1, "a"],
  [2, "b"],
]);

test("a revision that arrives does not replace what is on screen", () => {
  const before = shownContent({ current_round: 1, content_hash: "a" }, {}, { round: 1, hash: "a" }, hashes);
  expect(before).toMatchObject({ round: 1, hash: "a", isCurrent: true, isOutdated: false });
  const after = shownContent({ current_round: 2, content_hash: "b" }, {}, { round: 1, hash: "a" }, hashes);
  expect(after).toMatchObject({ round: 1, hash: "a", isCurrent: false, isOutdated: true });
});

test("an accepted counter-patch in the same round is a newer content too", () => {
  const after = shownContent({ current_round: 2, content_hash: "c" }, {}, { round: 2, hash: "b" }, hashes);
  expect(after).toMatchObject({ round: 2, hash: "b", isOutdated: true });
});

test("an earlier round and a comparison come from the address", () => {
  const now = { current_round: 2, content_hash: "b" };
  const pinned = { round: 2, hash: "b" };
  expect(shownContent(now, { round: 1 }, pinned, hashes)).toMatchObject({
    round: 1,
    hash: "a",
    isCurrent: false,
    isOutdated: false,
  });
  expect(shownContent(now, { since: 1 }, pinned, hashes)).toMatchObject({ since: 1, sinceHash: "a", isCurrent: true });
  expect(shownContent(now, { since: 2, round: 9 }, pinned, hashes)).toMatchObject({ round: 2, since: null });
  expect(shownContent(now, { round: 1 }, pinned, new Map())).toMatchObject({ round: 1, hash: null });
});

test("the round to compare with is the last one that was seen", () => {
  expect(previousRound(null, [3], 3)).toBeNull();
  expect(previousRound({ round: 1, version: 4 }, [3], 3)).toBe(1);
  expect(previousRound({ round: 1, version: 4 }, [2, 3], 3)).toBe(2);
});
