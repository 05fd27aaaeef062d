import { CommentForm } from "./CommentForm";
import { DraftCard } from "./DraftCard";
import { useReview } from "./ReviewContext";

/** The reader's comments that were not sent, those of earlier contents included. */
export function DraftList() {
  const { review, drafts, editing } = useReview();
  if (drafts.length === 0) return null;
  return (
    <section aria-label="Drafts">
      <h2 className="mb-2 font-semibold">Your drafts ({drafts.length})</h2>
      <ul className="flex flex-col gap-2">
        {drafts.map((draft) => {
          // The form of a comment on the current content stands at its lines.
          const isHere = editing?.id === draft.id && draft.hash !== review.content_hash;
          return <li key={draft.id}>{isHere ? <CommentForm draft={editing} /> : <DraftCard draft={draft} />}</li>;
        })}
      </ul>
    </section>
  );
}
