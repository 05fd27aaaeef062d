import { CommentForm } from "./CommentForm";
import { DraftCard } from "./DraftCard";
import { FindingCard } from "./FindingCard";
import { MessageCard } from "./MessageCard";
import { useReview } from "./ReviewContext";
import type { Notes } from "./useNotes";

/** What stands at a line: a finding, a message, a comment that was not sent, or the form for one. */
export function NoteView({ id, notes }: { id: string; notes: Notes }) {
  const { editing } = useReview();
  const issue = notes.findings.get(id);
  if (issue !== undefined) return <FindingCard issue={issue} />;
  const message = notes.messages.get(id);
  if (message !== undefined) return <MessageCard message={message} isInDiff />;
  const draft = notes.drafts.get(id);
  if (draft === undefined) return null;
  return editing?.id === draft.id ? <CommentForm draft={editing} /> : <DraftCard draft={draft} isInDiff />;
}
