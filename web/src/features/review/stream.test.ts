import { expect, test } from "vitest";
import { event, message } from "./sample";
import {
  eventWords,
  firstUnread,
  happened,
  isCut,
  joinMessages,
  offeredPatch,
  ofSeat,
  patchFate,
  roundHashes,
  streamOf,
} from "./stream";

const page = (...messages: ReturnType<typeof message>[]) => ({ messages, number: "R-12", review_id: "0b6f" });

test("a message that goes on in the next page is one message", () => {
  const pages = [
    page(message(2, "a"), message(3, "start ", { body_total: 9 })),
    page(message(3, "end"), message(5, "b")),
  ];
  expect(joinMessages(pages).map(({ id, body }) => [id, body])).toEqual([
    [2, "a"],
    [3, "start end"],
    [5, "b"],
  ]);
});

test("one stream in the order of versions, each message once and in full", () => {
  const events = [
    event(1, "proposed"),
    event(2, "claimed", { persona: "a" }),
    event(3, "message_added", { body: "the sta…" }),
    event(4, "claim_renewed"),
    event(5, "verdict_given", { persona: "a" }),
  ];
  const entries = streamOf(events, [message(3, "the start and the end"), message(6, "newer than the timeline")]);
  expect(entries.map(({ kind, version }) => `${kind} ${version}`)).toEqual([
    "round 1",
    "event 2",
    "message 3",
    "verdict 5",
    "message 6",
  ]);
});

test("a filter by seat keeps what concerns all seats", () => {
  const entries = streamOf(
    [event(1, "proposed"), event(2, "claimed", { persona: "a" }), event(3, "claimed", { persona: "b" })],
    [message(4, "to all", { to: "everyone" }), message(5, "to b", { persona: "b" })],
  );
  expect(ofSeat(entries, "a").map(({ version }) => version)).toEqual([1, 2, 4]);
  expect(ofSeat(entries, null)).toHaveLength(5);
});

test("unread starts after what was seen, at what others did", () => {
  const entries = streamOf(
    [event(1, "proposed")],
    [message(2, "mine", { caller_id: "ann" }), message(3, "x", { caller_id: "bob" })],
  );
  expect(firstUnread(entries, 1, "ann")).toBe(3);
  expect(firstUnread(entries, 3, "ann")).toBeNull();
  expect(firstUnread(entries, null, "ann")).toBeNull();
});

test("the content of a round is what its last event left", () => {
  const events = [
    event(1, "proposed", { content_hash: "a" }),
    event(2, "counter_patch_accepted", { content_hash: "b" }),
    event(3, "revised", { content_hash: "c" }, 2),
  ];
  expect([...roundHashes(events)]).toEqual([
    [1, "b"],
    [2, "c"],
  ]);
});

test("what becomes of a counter-patch", () => {
  const offer = event(2, "verdict_given", { counter_patch: "offered", persona: "a" });
  expect(patchFate([offer], offer)).toBe("pending");
  expect(
    patchFate([offer, event(3, "counter_patch_accepted", { persona: "a", counter_patch: "accepted" })], offer),
  ).toBe("accepted");
  expect(
    patchFate([offer, event(3, "counter_patch_rejected", { persona: "b", counter_patch: "rejected" })], offer),
  ).toBe("pending");
  expect(patchFate([offer, event(3, "revised", {}, 2)], offer)).toBe("replaced");
  const again = event(4, "verdict_given", { counter_patch: "offered", persona: "a" });
  expect(patchFate([offer, again], offer)).toBe("replaced");
  expect(offeredPatch([offer, again], "a")).toBe(again);
  expect(offeredPatch([offer, again], "a", 2)).toBeNull();
});

test("quiet lines", () => {
  expect(eventWords(event(2, "claimed", { persona: "security" }).event)).toBe("took the seat security");
  const released = event(2, "claim_ended", { persona: "a", ended: "released", actor: "bob" });
  expect(eventWords(released.event)).toBe("gave back the seat a");
  const lost = event(2, "claim_ended", { persona: "a", ended: "taken_over" });
  expect(eventWords(lost.event)).toBe("the claim of the seat a ended: taken over");
  const settled = [{ issue_id: "I-4", said: "wont_fix" as const }];
  expect(eventWords(event(2, "finding_updated", { settled }).event)).toBe("said of I-4: wont fix");
});

test("a shortened text is recognised", () => {
  expect(isCut("abc… [2000 of 3120 characters]")).toBe(true);
  expect(isCut("abc… [2000 of 3120 characters; get_proposal pages the rest]")).toBe(true);
  expect(isCut("abc [1 of 2]")).toBe(false);
});

test("every kind of event has words for the replay", () => {
  expect(happened(event(1, "proposed"))).toBe("proposed it");
  const vote = { verdict: "changes_requested", persona: "security" } as const;
  expect(happened(event(3, "verdict_given", vote))).toBe("voted changes requested for security");
  expect(happened(event(4, "verdict_given", { verdict: "comment" }))).toBe("commented");
  expect(happened(event(2, "claimed", { persona: "tests" }))).toBe("took the seat tests");
  expect(happened(event(5, "message_added"))).toBe("wrote a message");
});
