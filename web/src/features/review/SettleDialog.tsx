import { type ReactNode, useState } from "react";
import { call } from "../../api/client";
import type { Issue, RequestedStatus } from "../../api/generated";
import { Name } from "../../text/UserText";
import { Field } from "../../ui/Field";
import { Options } from "../../ui/Options";
import { Severity } from "../../ui/Status";
import { useSend } from "./actions";
import { Choice } from "./Choice";
import { useDraftText } from "./drafts";
import { FormDialog } from "./FormDialog";
import { type SettleChoice, settleChoices } from "./findings";
import { useReview } from "./ReviewContext";

interface SettleDialogProps {
  issueId: string | null;
  status: RequestedStatus | null;
  onClose: () => void;
}

/** Says what becomes of a finding. */
export function SettleDialog({ issueId, status, onClose }: SettleDialogProps) {
  const { issues, review, me } = useReview();
  const [chosenId, setChosenId] = useState(issueId);
  const open = issues.filter((issue) => settleChoices(issue, review, me).length > 0 && issue.status === "open");
  const issue = issues.find(({ issue_id }) => issue_id === chosenId) ?? open[0];
  const picker = issueId === null && open.length > 1 && (
    <Choice
      label="Finding"
      value={issue?.issue_id ?? ""}
      options={open.map(({ issue_id, title }) => ({ key: issue_id, label: `${issue_id} ${title}` }))}
      onChange={setChosenId}
    />
  );
  if (issue === undefined) {
    return (
      <FormDialog
        title={`Findings of ${review.number}`}
        action="Settle"
        onClose={onClose}
        onSend={onClose}
        isSending={false}
        error={null}
        problem="There is no open finding that you can settle."
      />
    );
  }
  return (
    <SettleForm key={issue.issue_id} issue={issue} first={status} onClose={onClose}>
      {picker}
    </SettleForm>
  );
}

const EFFECTS: Record<SettleChoice["role"], string> = {
  proposer: "Its reviewer decides. Until then it stays open with your answer.",
  reviewer: "You raised it, so this decides it.",
  operator: "An operator's word decides it.",
};

interface SettleFormProps {
  issue: Issue;
  first: RequestedStatus | null;
  onClose: () => void;
  children: ReactNode;
}

function SettleForm({ issue, first, onClose, children }: SettleFormProps) {
  const { id, review, me, issues } = useReview();
  const choices = settleChoices(issue, review, me);
  const [status, setStatus] = useState(first ?? choices[0]?.status ?? "fixed");
  const choice = choices.find((one) => one.status === status) ?? null;
  const [note, setNote] = useDraftText(`settle.${id}.${issue.issue_id}`);
  const others = issues.filter((one) => one.issue_id !== issue.issue_id && one.status === "open");
  const [duplicateOf, setDuplicateOf] = useState(others[0]?.issue_id ?? "");
  const isDuplicate = status === "duplicate";
  const { send, isSending, error } = useSend(
    ({ role }: SettleChoice) =>
      call("update_review_issue", {
        review_id: id,
        issue_id: issue.issue_id,
        status,
        role,
        caller_id: me.name,
        ...(note.trim() !== "" && { note: note.trim() }),
        ...(isDuplicate && { duplicate_of: duplicateOf }),
      }),
    () => {
      setNote("");
      onClose();
    },
  );
  const isNoteMissing = choice?.needsNote === true && note.trim() === "";
  const problem =
    choice === null
      ? "This finding cannot be changed so now."
      : isNoteMissing
        ? "Say why: the reviewer has to know."
        : isDuplicate && duplicateOf === ""
          ? "There is no other open finding."
          : null;
  return (
    <FormDialog
      title={`${issue.issue_id} of ${review.number}`}
      action={choice?.label ?? "Settle"}
      onClose={onClose}
      onSend={() => choice !== null && send(choice)}
      isSending={isSending}
      hasDraft={note !== ""}
      error={error}
      problem={problem}
    >
      {children}
      <p>
        <Severity severity={issue.severity} /> <Name className="font-semibold">{issue.title}</Name>
      </p>
      <Options
        label="Becomes"
        isLabelHidden
        value={status}
        options={choices.map((one) => ({ key: one.status, label: one.label }))}
        onChange={setStatus}
      />
      {isDuplicate && (
        <Choice
          label="Same as"
          value={duplicateOf}
          options={others.map((one) => ({ key: one.issue_id, label: `${one.issue_id} ${one.title}` }))}
          onChange={setDuplicateOf}
        />
      )}
      <Field
        label={choice?.needsNote ? "Note" : "Note (optional)"}
        value={note}
        onChange={setNote}
        isMultiline
        rows={3}
        autoFocus
      />
      {choice !== null && <p className="text-dim">{EFFECTS[choice.role]}</p>}
    </FormDialog>
  );
}
