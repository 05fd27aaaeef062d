import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../../api/client";
import type { Issue } from "../../api/generated";
import { keys } from "../../api/keys";
import { keyOf } from "../../keys/bindings";
import { formKeys } from "../../keys/formKeys";
import { useKeys } from "../../keys/KeysContext";
import { useWhyNotSend } from "../../live/useWhyNotSend";
import { useMe } from "../../me";
import { Name } from "../../text/UserText";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Field } from "../../ui/Field";
import { Options } from "../../ui/Options";
import { type Settled, type Settlement, settleArgs, settledWords } from "./model";

interface SettleDialogProps {
  issues: readonly Issue[];
  /** Something was settled. */
  onDone: () => void;
  onClose: () => void;
}

const CHOICES = [
  { key: "fixed", label: "Fixed" },
  { key: "wont_fix", label: "Won't fix" },
  { key: "disputed", label: "Dispute" },
] as const;

const EFFECTS: Record<Settlement["status"], string> = {
  fixed: "An operator's word decides it.",
  wont_fix: "An operator's word decides it. Say why, so that reviewers do not raise it again.",
  disputed: "The answer of the proposer. The issue stays open until its reviewer agrees.",
};

/** Settles one issue or many, and says of each what became of it. */
export function SettleDialog({ issues, onDone, onClose }: SettleDialogProps) {
  const [status, setStatus] = useState<Settlement["status"]>("fixed");
  const [note, setNote] = useState("");
  const { send, isSending, settled } = useSettle(issues, { status, note }, onDone, onClose);
  const whyNot = useWhyNotSend();
  const isNoteMissing = status !== "fixed" && note.trim() === "";
  const problem = whyNot ?? (isNoteMissing ? "Say why in the note." : null);
  const trySend = () => {
    if (problem === null && !isSending && settled.length === 0) send();
  };
  useKeys({ send: trySend });
  const only = issues.length === 1 ? issues[0] : undefined;
  const title = only === undefined ? `Settle ${issues.length} issues` : `Settle ${only.issue_id} of ${only.number}`;
  return (
    <Dialog title={title} isOpen onClose={onClose} isWide>
      {settled.length > 0 ? (
        <Results settled={settled} onClose={onClose} />
      ) : (
        <form className="flex flex-col gap-4" {...formKeys(trySend)}>
          <ul className="max-h-40 overflow-y-auto">
            {issues.map((issue) => (
              <li key={issue.issue_id}>
                <span className="text-dim">{issue.issue_id}</span> <Name>{issue.title}</Name>
              </li>
            ))}
          </ul>
          <Options label="Becomes" isLabelHidden value={status} options={CHOICES} onChange={setStatus} />
          <Field
            label={status === "fixed" ? "Note (optional)" : "Note"}
            value={note}
            onChange={setNote}
            isMultiline
            rows={3}
            autoFocus
          />
          <p className="text-dim">{EFFECTS[status]}</p>
          <div className="flex flex-wrap items-center justify-end gap-2">
            {problem !== null && <p className="mr-auto text-warn">{problem}</p>}
            <Button kind="quiet" onPress={onClose}>
              Close
            </Button>
            <Button
              kind="primary"
              shortcut={keyOf("send")}
              isSending={isSending}
              isDisabled={problem !== null}
              onPress={trySend}
            >
              Settle
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

/** Sends one call after the other, so that each review sees them in order. The dialog stays open if one was refused. */
function useSettle(issues: readonly Issue[], settlement: Settlement, onDone: () => void, onClose: () => void) {
  const me = useMe();
  const queries = useQueryClient();
  const [isSending, setSending] = useState(false);
  const [settled, setSettled] = useState<readonly Settled[]>([]);
  const send = async () => {
    setSending(true);
    const results: Settled[] = [];
    for (const issue of issues) {
      const answer = call("update_review_issue", settleArgs(issue, settlement, me));
      results.push(
        await answer.then(
          (result) => ({ issue, error: null, result }),
          (error: Error) => ({ issue, error, result: null }),
        ),
      );
    }
    setSending(false);
    void queries.invalidateQueries({ queryKey: ["issues"] });
    for (const { issue } of results) void queries.invalidateQueries({ queryKey: keys.review(issue.review_id ?? "") });
    if (results.some(({ error }) => error === null)) onDone();
    if (results.every(({ error }) => error === null)) onClose();
    else setSettled(results);
  };
  return { send: () => void send(), isSending, settled };
}

function Results({ settled, onClose }: { settled: readonly Settled[]; onClose: () => void }) {
  return (
    <div className="flex flex-col gap-3">
      <p role="alert" className="font-medium">
        {settledWords(settled)}
      </p>
      <ul className="flex max-h-96 flex-col gap-1 overflow-y-auto">
        {settled.map(({ issue, error }) => (
          <li key={issue.issue_id}>
            <span className={error === null ? "text-ok" : "text-bad"}>
              {error === null ? "✓ settled" : "✗ refused"}
            </span>{" "}
            <span className="text-dim">{issue.issue_id}</span> <Name>{issue.title}</Name>
            {error !== null && <p className="pl-4 text-bad">{error.message}</p>}
          </li>
        ))}
      </ul>
      <Button kind="primary" onPress={onClose} className="self-end">
        Close
      </Button>
    </div>
  );
}
