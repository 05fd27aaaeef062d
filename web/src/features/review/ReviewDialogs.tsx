import type { Verdict } from "../../api/generated";
import { AddSeatDialog } from "./AddSeatDialog";
import { CancelDialog } from "./CancelDialog";
import { CloseDialog } from "./CloseDialog";
import { PatchDialog } from "./PatchDialog";
import { ReleaseDialog } from "./ReleaseDialog";
import { ResubmitDialog } from "./ResubmitDialog";
import type { OpenDialog } from "./ReviewContext";
import { SeatDialog } from "./SeatDialog";
import { SettleDialog } from "./SettleDialog";
import { VerdictDialog } from "./VerdictDialog";

interface ReviewDialogsProps {
  dialog: OpenDialog;
  onClose: () => void;
  onVerdict: (verdict: Verdict) => void;
}

/** The form that is open. */
export function ReviewDialogs({ dialog, onClose, onVerdict }: ReviewDialogsProps) {
  switch (dialog.kind) {
    case "verdict":
      return <VerdictDialog verdict={dialog.verdict} onClose={onClose} onSent={onVerdict} />;
    case "settle":
      return <SettleDialog issueId={dialog.issueId} status={dialog.status} onClose={onClose} />;
    case "seat":
      return <SeatDialog how={dialog.how} persona={dialog.persona} onClose={onClose} />;
    case "patch":
      return <PatchDialog persona={dialog.persona} answer={dialog.answer} onClose={onClose} />;
    case "add_seat":
      return <AddSeatDialog onClose={onClose} />;
    case "release":
      return <ReleaseDialog onClose={onClose} />;
    case "cancel":
      return <CancelDialog onClose={onClose} />;
    case "close":
      return <CloseDialog onClose={onClose} />;
    case "resubmit":
      return <ResubmitDialog onClose={onClose} />;
  }
}
