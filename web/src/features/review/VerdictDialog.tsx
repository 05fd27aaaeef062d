import { useState } from "react";
import type { Verdict } from "../../api/generated";
import { Name } from "../../text/UserText";
import { Banner } from "../../ui/Banner";
import { Button } from "../../ui/Button";
import { Field } from "../../ui/Field";
import { Options } from "../../ui/Options";
import { giveVerdict, useSend } from "./actions";
import { Choice } from "./Choice";
import { clearDraftText, removeDraft, toFindings, useDraftText } from "./drafts";
import { FormDialog } from "./FormDialog";
import { mySeat, type SeatChoice, seatChoices } from "./model";
import { useReview } from "./ReviewContext";
import { VerdictDrafts } from "./VerdictDrafts";

const VERDICTS: { key: Verdict; label: string }[] = [
  { key: "approved", label: "✓ approve" },
  { key: "changes_requested", label: "▲ request changes" },
  { key: "comment", label: "… comment" },
  { key: "rejected", label: "✗ reject" },
];

const TITLES: Record<Verdict, string> = {
  approved: "Approve",
  changes_requested: "Request changes to",
  rejected: "Reject",
  comment: "Comment on",
};

const ACTIONS: Record<Verdict, string> = {
  approved: "Approve",
  changes_requested: "Request changes",
  rejected: "Reject",
  comment: "Send the comment",
};

const EFFECTS: Record<Verdict, string> = {
  approved: "You sign this content. Your own open findings that you do not repeat are settled.",
  changes_requested: "You ask the proposer for another round.",
  rejected: "You reject the whole idea. The review ends at once, whatever others vote.",
  comment: "Your findings and your text are sent. Your vote stays open.",
};

interface VerdictDialogProps {
  verdict: Verdict;
  onClose: () => void;
  onSent: (verdict: Verdict) => void;
}

/** A verdict with its reason and all findings that were collected. It takes a seat first if that is needed. */
export function VerdictDialog({ verdict: first, onClose, onSent }: VerdictDialogProps) {
  const { id, review, me, shown, drafts, can } = useReview();
  const [verdict, setVerdict] = useState(first);
  const textName = `verdict.${id}`;
  const [reason, setReason] = useDraftText(textName);
  const seats = seatChoices(review, me);
  const [persona, setPersona] = useState<string | null>(null);
  const seat = seats.find((choice) => choice.persona === persona) ?? seats[0] ?? null;
  const findings = drafts.filter((draft) => draft.kind === "finding" && draft.hash === shown.hash);
  const { send, isSending, error } = useSend(
    (choice: SeatChoice) => {
      const { issues, suggestions } = toFindings(findings);
      const text = reason.trim() === "" ? {} : { reason: reason.trim() };
      const lists = { ...(issues.length > 0 && { issues }), ...(suggestions.length > 0 && { suggestions }) };
      const generation = mySeat(review, me)?.claim_generation;
      return giveVerdict({
        id,
        name: me.name,
        seat: choice,
        generation,
        verdict: { verdict, ...text, ...lists },
        hash: shown.hash ?? "",
      });
    },
    (answer) => {
      for (const draft of findings) removeDraft(id, draft);
      clearDraftText(textName);
      onSent(answer.verdict);
    },
  );
  const problem = can.vote ?? problemOf(verdict, reason, shown.isCurrent);
  return (
    <FormDialog
      title={`${TITLES[verdict]} ${review.number}`}
      action={ACTIONS[verdict]}
      isDanger={verdict === "rejected"}
      onClose={onClose}
      onSend={() => seat !== null && send(seat)}
      isSending={isSending}
      hasDraft={reason !== "" || findings.length > 0}
      error={error}
      problem={problem}
    >
      {!shown.isCurrent && <ShowLatest />}
      <div className="flex flex-wrap gap-x-6 gap-y-2">
        <Options label="Verdict" isLabelHidden value={verdict} options={VERDICTS} onChange={setVerdict} />
        {seats.length > 1 && (
          <Choice
            label="Seat"
            value={seat?.persona ?? ""}
            options={seats.map(({ persona: key, label }) => ({ key, label }))}
            onChange={setPersona}
          />
        )}
      </div>
      <p className="text-dim">{EFFECTS[verdict]}</p>
      {seat !== null && seat.how !== "mine" && <TakesSeat seat={seat} />}
      <Field
        label={verdict === "approved" ? "Reason (optional)" : "Reason"}
        value={reason}
        onChange={setReason}
        isMultiline
        rows={5}
        isRequired={verdict !== "approved"}
        placeholder="Markdown is fine."
        autoFocus
      />
      <VerdictDrafts onClose={onClose} />
    </FormDialog>
  );
}

function problemOf(verdict: Verdict, reason: string, isCurrent: boolean): string | null {
  if (!isCurrent) return "What is on screen is not the current content.";
  return verdict !== "approved" && reason.trim() === "" ? "This verdict needs a reason." : null;
}

function TakesSeat({ seat }: { seat: SeatChoice }) {
  const [how, effect] = {
    mine: ["", ""],
    claim: ["takes", "You hold no seat yet."],
    take_over: ["takes over", "A vote of its present reviewer no longer counts."],
    add: ["adds", "It is required like the others."],
  }[seat.how];
  return (
    <p>
      Sending {how} the seat <Name className="font-semibold">{seat.persona}</Name> for you first. {effect}
    </p>
  );
}

function ShowLatest() {
  const { review, shown, showLatest } = useReview();
  return (
    <Banner
      tone="warn"
      title={`You see round ${shown.round}. A verdict counts only for the current content, of round ${review.current_round}.`}
      actions={<Button onPress={() => showLatest("changes")}>Show what changed</Button>}
    />
  );
}
