import { useState } from "react";
import { call } from "../../api/client";
import type { Reviewer } from "../../api/generated";
import { useMe } from "../../me";
import type { Pool } from "../../pool";
import { Name } from "../../text/UserText";
import { Field } from "../../ui/Field";
import { Options } from "../../ui/Options";
import { useChange } from "./actions";
import { PoolDialog } from "./PoolDialog";
import { SpawnDialog } from "./SpawnDialog";

/** The dialog that is open. */
export type OpenDialog =
  | { kind: "spawn" | "pause" | "limit" | "stop_all" }
  | { kind: "stop"; reviewer: Reviewer; isForced: boolean };

interface DialogProps {
  pool: Pool;
  onClose: () => void;
}

export function PoolDialogs({ open, pool, onClose }: DialogProps & { open: OpenDialog | null }) {
  if (open === null) return null;
  if (open.kind === "spawn") return <SpawnDialog onClose={onClose} />;
  if (open.kind === "pause") return <PauseDialog pool={pool} onClose={onClose} />;
  if (open.kind === "limit") return <LimitDialog pool={pool} onClose={onClose} />;
  if (open.kind === "stop") return <StopDialog {...open} onClose={onClose} />;
  return <StopAllDialog pool={pool} onClose={onClose} />;
}

function PauseDialog({ pool, onClose }: DialogProps) {
  const me = useMe();
  const isNowPaused = pool.state === "paused";
  // What the person was asked stays, whatever others do meanwhile.
  const [isPaused] = useState(isNowPaused);
  const change = useChange<void>(() => call("control_pool", { paused: !isPaused, caller_id: me.name }), onClose);
  return (
    <PoolDialog
      title={isPaused ? "Resume the pool" : "Pause the pool"}
      action={isPaused ? "Resume" : "Pause"}
      change={change}
      problem={isNowPaused !== isPaused && !change.isSending ? "The pool changed meanwhile." : null}
      onClose={onClose}
    >
      <p>
        {isPaused
          ? "Reviewers start again as soon as reviews wait for them. Every start may cost money."
          : "No reviewer starts until a person resumes the pool, also after a restart of the broker. Running reviewers continue."}
      </p>
    </PoolDialog>
  );
}

const MAX_POOL_SIZE = 10;

function LimitDialog({ pool, onClose }: DialogProps) {
  const me = useMe();
  const [size, setSize] = useState(String(pool.max_size));
  const number = Number(size);
  const isValid = /^\d+$/.test(size.trim()) && number >= 1 && number <= MAX_POOL_SIZE;
  const change = useChange<void>(() => call("control_pool", { max_size: number, caller_id: me.name }), onClose);
  const configured = pool.configured_max_size ?? pool.max_size;
  return (
    <PoolDialog
      title="Limit of the pool"
      action="Change the limit"
      change={change}
      problem={isValid ? null : `Give a number from 1 to ${MAX_POOL_SIZE}.`}
      onClose={onClose}
    >
      <Field
        label="Reviewers at once"
        value={size}
        onChange={setSize}
        hint={`1 to ${MAX_POOL_SIZE}. It holds until the broker ends; the setting pool.max_size, now ${configured}, lasts.`}
        isRequired
        autoFocus
      />
      <p>Running reviewers beyond the limit are not stopped; no other starts until enough have ended.</p>
    </PoolDialog>
  );
}

const HOW = [
  { key: "drain", label: "after their current review" },
  { key: "now", label: "now" },
] as const;

function StopAllDialog({ pool, onClose }: DialogProps) {
  const me = useMe();
  const [how, setHow] = useState<"drain" | "now">("drain");
  const change = useChange<void>(() => call("stop_reviewers", { force: how === "now", caller_id: me.name }), onClose);
  const running = pool.reviewers.length;
  const dedicated = pool.reviewers.filter(
    ({ reviewer_session_id, why }) => reviewer_session_id !== undefined || why === "dedicated",
  );
  return (
    <PoolDialog
      title="Stop all reviewers"
      action={`Stop ${running} ${running === 1 ? "reviewer" : "reviewers"}`}
      isDanger
      change={change}
      problem={running === 0 ? "No reviewer runs." : null}
      onClose={onClose}
    >
      <Options label="Stop them" value={how} options={HOW} onChange={setHow} />
      <p>
        {how === "now"
          ? "They end at once, and their reviews return to the queue."
          : "They get no new review and end when they have finished the one they hold."}
        {pool.state !== "paused" && " If reviews wait, the pool starts others: pause it first to keep it quiet."}
        {dedicated.length > 0 && " Dedicated reviewers among them do not come back."}
      </p>
    </PoolDialog>
  );
}

function StopDialog({ reviewer, isForced, onClose }: { reviewer: Reviewer; isForced: boolean; onClose: () => void }) {
  const me = useMe();
  const { reviewer_id, name, turns } = reviewer;
  const change = useChange<void>(
    () => call("kill_reviewer", { reviewer_id, force: isForced, caller_id: me.name }),
    onClose,
  );
  return (
    <PoolDialog
      title={`${isForced ? "Stop" : "Drain"} ${name}`}
      action={isForced ? "Stop it now" : "Drain it"}
      isDanger={isForced}
      change={change}
      onClose={onClose}
    >
      <p>
        <Name>{reviewer_id}</Name>{" "}
        {isForced
          ? "ends at once, and its review returns to the queue."
          : "gets no new review and ends when it has finished the one it holds."}
        {turns !== undefined && " A dedicated reviewer does not come back."}
      </p>
    </PoolDialog>
  );
}
