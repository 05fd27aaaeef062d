/** The stream of a reviewer's log: one connection as long as a page watches it. */
import { Refused, Unreachable } from "../../api/client";
import type { Problem, ReviewerLogResponse } from "../../api/generated";

export type LogFrame = { kind: "part"; part: ReviewerLogResponse } | { kind: "end"; reason: string };

/** Where the stream begins: at an offset, or with the last lines. */
export type LogStart = { from: number } | { lines: number };

/** Reads the frames of one connection. It ends with an `end` frame, or without one if the connection was lost. */
export async function* readLog(reviewer: string, start: LogStart, signal: AbortSignal): AsyncGenerator<LogFrame> {
  const query = new URLSearchParams(Object.entries(start).map(([name, value]) => [name, String(value)]));
  const address = `/api/v1/reviewers/${encodeURIComponent(reviewer)}/logs/stream?${query}`;
  const answer = await fetch(address, {
    signal,
    credentials: "same-origin",
    headers: { accept: "text/event-stream" },
  }).catch((error: unknown) => {
    throw signal.aborted ? error : new Unreachable();
  });
  if (!answer.ok) throw new Refused((await answer.json()) as Problem, answer.headers.get("x-trace-id"));
  if (answer.body === null) return;
  let rest = "";
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw signal.aborted ? error : new Unreachable();
      });
      if (done) return;
      const frames = framesIn(rest + value);
      rest = frames.rest;
      yield* frames.found;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** The whole frames in a text, and what follows them. */
export function framesIn(text: string): { found: LogFrame[]; rest: string } {
  const blocks = text.split("\n\n");
  const rest = blocks.pop() ?? "";
  return { found: blocks.flatMap((block) => frameOf(block) ?? []), rest };
}

function frameOf(block: string): LogFrame | null {
  let event = "";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) event = line.slice("event: ".length);
    if (line.startsWith("data: ")) data = line.slice("data: ".length);
  }
  if (event === "log") return { kind: "part", part: JSON.parse(data) as ReviewerLogResponse };
  if (event === "end") return { kind: "end", reason: (JSON.parse(data) as { reason: string }).reason };
  // A heartbeat.
  return null;
}
