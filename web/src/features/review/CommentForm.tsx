import { formKeys } from "../../keys/formKeys";
import { Name } from "../../text/UserText";
import { Button } from "../../ui/Button";
import { Field } from "../../ui/Field";
import { Options } from "../../ui/Options";
import { isEmpty, type KeptDraft, moveDraft, removeDraft } from "./drafts";
import { FindingFields } from "./FindingFields";
import { anchorOfPlace, placeWords } from "./findings";
import { useReview } from "./ReviewContext";
import { SendRow } from "./SendRow";
import { useKeptDraft } from "./useKeptDraft";
import { useMessage } from "./useMessage";

/** A comment on lines: a finding, which is sent with the verdict, or a message, which is sent at once. */
export function CommentForm({ draft: first }: { draft: KeptDraft }) {
  const { id, review, shown, can, edit } = useReview();
  const { draft, change, flush, drop } = useKeptDraft(first);
  const isFinding = can.vote === null && (draft.kind === "finding" || can.message !== null);
  const close = () => {
    flush();
    edit(null);
  };
  // A comment of an earlier content becomes one of the content on screen.
  const keep = () => {
    flush();
    if (draft.hash !== review.content_hash && shown.isCurrent && shown.hash !== null) {
      moveDraft(id, draft, { hash: shown.hash, round: shown.round, place: draft.place });
    }
    edit(null);
  };
  const discard = () => {
    drop();
    removeDraft(id, draft);
    edit(null);
  };
  const message = useMessage(anchorOfPlace(draft.place), null, discard);
  const parts = [draft.title, draft.text, draft.suggestion].map((part) => part.trim());
  const body = parts.filter((part) => part !== "").join("\n\n");
  const send = () => {
    if (isFinding) keep();
    else if (body !== "" && message.whyNot === null) message.send(body);
  };
  return (
    <form
      aria-label={`Comment on ${placeWords(draft.place)}`}
      className="flex flex-col gap-2 rounded border border-accent bg-bg p-3 font-sans text-sm whitespace-normal"
      {...formKeys(send, close)}
    >
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <Name className="font-mono text-xs text-dim">{placeWords(draft.place)}</Name>
        {can.vote === null && can.message === null && (
          <Options
            label="Kind of comment"
            isLabelHidden
            value={draft.kind}
            options={KINDS}
            onChange={(kind) => change({ kind })}
          />
        )}
      </div>
      {isFinding ? (
        <FindingFields draft={draft} change={change} />
      ) : (
        <Field
          label="Message"
          isLabelHidden
          placeholder="Message…"
          value={draft.text}
          onChange={(text) => change({ text })}
          isMultiline
          rows={3}
          autoFocus
        />
      )}
      {isFinding ? (
        <div className="flex flex-wrap items-center gap-2">
          <p className="text-xs text-dim">Kept in this browser until you send your verdict.</p>
          <span className="grow" />
          <Button kind="quiet" onPress={discard}>
            Discard
          </Button>
          <Button kind="primary" onPress={keep} isDisabled={isEmpty(draft)}>
            Add to my verdict
          </Button>
        </div>
      ) : (
        <SendRow message={message} body={body}>
          <Button kind="quiet" onPress={discard}>
            Discard
          </Button>
        </SendRow>
      )}
    </form>
  );
}

const KINDS: { key: KeptDraft["kind"]; label: string }[] = [
  { key: "finding", label: "Finding, sent with my verdict" },
  { key: "message", label: "Message, sent now" },
];
