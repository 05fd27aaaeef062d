/** The state of the event stream as a pure function: what the page does when a frame arrives or the connection ends. */
import type { LiveFrame } from "../api/generated";

export interface Live {
  state: "connecting" | "live" | "offline" | "signed_out";
  /** The last event that was seen. `null`: none, so everything on display may be old. */
  seq: number | null;
  failures: number;
  /** The build of the page's server and its database, as the first `ready` named them. */
  build: string | null;
  databaseId: string | null;
  /** The broker was updated: this page is older than it. */
  isOutdated: boolean;
  /** Another database answers since this page was opened: what it showed before is gone. */
  isOtherDatabase: boolean;
}

export type LiveEvent = Exclude<LiveFrame, { type: "ready" } | { type: "dropped" }>;

export type Heard =
  | { kind: "frame"; frame: LiveFrame }
  | { kind: "closed" }
  /** The broker refused to continue at `seq`: another database answers on this port. */
  | { kind: "unknown_since" }
  | { kind: "unauthorized" }
  /** The broker knows who asks. `seq` is the last event before anything was loaded; `null`: something may be old. */
  | { kind: "admitted"; seq: number | null };

export type Effect =
  | { do: "touch"; event: LiveEvent }
  | { do: "refetch_all" }
  | { do: "clear_all" }
  | { do: "dial"; afterMs: number };

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 15_000;

export const start: Live = {
  state: "connecting",
  seq: null,
  failures: 0,
  build: null,
  databaseId: null,
  isOutdated: false,
  isOtherDatabase: false,
};

export function isEvent(frame: LiveFrame): frame is LiveEvent {
  return frame.type !== "ready" && frame.type !== "dropped";
}

export function step(live: Live, heard: Heard): [Live, Effect[]] {
  switch (heard.kind) {
    case "frame":
      return frameArrived(live, heard.frame);
    case "closed": {
      const afterMs = Math.min(FIRST_DELAY_MS * 2 ** live.failures, MAX_DELAY_MS);
      return [{ ...live, state: "offline", failures: live.failures + 1 }, [{ do: "dial", afterMs }]];
    }
    case "unknown_since":
      return [
        { ...live, state: "connecting", seq: null, isOtherDatabase: true },
        [{ do: "clear_all" }, { do: "dial", afterMs: 0 }],
      ];
    case "unauthorized":
      return [{ ...live, state: "signed_out", seq: null }, []];
    case "admitted":
      return [{ ...live, state: "connecting", seq: heard.seq, failures: 0 }, [{ do: "dial", afterMs: 0 }]];
  }
}

function frameArrived(live: Live, frame: LiveFrame): [Live, Effect[]] {
  if (!isEvent(frame)) {
    if (frame.type === "dropped") return [{ ...live, seq: frame.seq }, []];
    return greeted(live, frame);
  }
  const isKnown = live.seq !== null && frame.seq <= live.seq;
  return isKnown ? [live, []] : [{ ...live, seq: frame.seq }, [{ do: "touch", event: frame }]];
}

function greeted(live: Live, ready: Extract<LiveFrame, { type: "ready" }>): [Live, Effect[]] {
  const isOtherDatabase = live.databaseId !== null && live.databaseId !== ready.database_id;
  const isOutdated = live.isOutdated || (live.build !== null && live.build !== ready.build);
  const next: Live = {
    state: "live",
    seq: live.seq === null || isOtherDatabase ? ready.seq : live.seq,
    failures: 0,
    build: live.build ?? ready.build,
    databaseId: ready.database_id,
    isOutdated,
    isOtherDatabase: live.isOtherDatabase || isOtherDatabase,
  };
  if (isOtherDatabase) return [next, [{ do: "clear_all" }]];
  return [next, live.seq === null ? [{ do: "refetch_all" }] : []];
}
