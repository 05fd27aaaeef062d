import { Name } from "../../text/UserText";
import { Button } from "../../ui/Button";
import { Severity } from "../../ui/Status";
import { type KeptDraft, moveDraft, removeDraft, titleOf } from "./drafts";
import { placeWords } from "./findings";
import { useReview } from "./ReviewContext";
import { ReviewText } from "./ReviewText";

/** A comment that was not sent. One that was written for another content says so and can be moved to this one. */
export function DraftCard({ draft, isInDiff = false }: { draft: KeptDraft; isInDiff?: boolean }) {
  const { id, review, shown, edit, goTo } = useReview();
  const isOld = draft.hash !== review.content_hash;
  const canMove = isOld && shown.hash !== null && shown.isCurrent;
  const move = () => {
    if (shown.hash !== null) moveDraft(id, draft, { hash: shown.hash, round: shown.round, place: draft.place });
  };
  const open = () => {
    edit(draft);
    if (!isInDiff) goTo({ kind: "note", id: `draft:${draft.id}` });
  };
  return (
    <article
      aria-label={`Draft: ${titleOf(draft)}`}
      className="rounded border border-dashed border-accent bg-bg px-3 py-2 font-sans text-sm whitespace-normal"
    >
      <p>
        <span className="mr-1 rounded-full bg-accent-bg px-2 text-xs font-medium text-accent">draft</span>
        {draft.kind === "message" ? (
          <span className="text-dim">message</span>
        ) : draft.severity === "suggestion" ? (
          <span className="text-dim">suggestion</span>
        ) : (
          <Severity severity={draft.severity} />
        )}{" "}
        <Name className="font-semibold">{titleOf(draft)}</Name>
      </p>
      <p className="text-xs text-dim">
        <Name className="font-mono">{placeWords(draft.place)}</Name>
        {isOld && <span className="text-warn"> · written for round {draft.round}, whose content has changed</span>}
      </p>
      {draft.text.trim() !== "" && draft.title.trim() !== "" && <ReviewText text={draft.text} />}
      <div className="mt-1 flex flex-wrap gap-1">
        {(!isOld || canMove) && (
          <Button kind="quiet" onPress={isOld ? move : open}>
            {isOld ? "Keep it at these lines" : "Edit"}
          </Button>
        )}
        {isOld && (
          <Button kind="quiet" onPress={open}>
            Edit, or send as a message
          </Button>
        )}
        <Button kind="quiet" onPress={() => removeDraft(id, draft)}>
          Discard
        </Button>
      </div>
    </article>
  );
}
