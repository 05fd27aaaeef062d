import { Name } from "../../text/UserText";
import { Button } from "../../ui/Button";
import { Severity } from "../../ui/Status";
import { removeDraft, titleOf } from "./drafts";
import { placeWords } from "./findings";
import { useReview } from "./ReviewContext";

/** The findings that a verdict takes along, and those that it does not because they are for another content. */
export function VerdictDrafts({ onClose }: { onClose: () => void }) {
  const { id, shown, drafts, edit, goTo, go } = useReview();
  const findings = drafts.filter(({ kind }) => kind === "finding");
  const sent = findings.filter(({ hash }) => hash === shown.hash);
  const left = findings.length - sent.length;
  const editDraft = (draft: (typeof sent)[number]) => {
    onClose();
    edit(draft);
    goTo({ kind: "note", id: `draft:${draft.id}` });
  };
  return (
    <section aria-label="Findings of this verdict" className="flex flex-col gap-2">
      <h3 className="font-medium">
        {sent.length === 0 ? "No findings are sent with it." : `Findings sent with it (${sent.length})`}
      </h3>
      {sent.length > 0 && (
        <ul className="divide-y divide-line rounded border border-line">
          {sent.map((draft) => (
            <li key={draft.id} className="flex flex-wrap items-center justify-end gap-x-3 gap-y-1 px-3 py-1">
              {draft.severity === "suggestion" ? (
                <span className="text-dim">suggestion</span>
              ) : (
                <Severity severity={draft.severity} />
              )}
              <span className="min-w-48 flex-1">
                <Name className="font-medium">{titleOf(draft)}</Name>{" "}
                <Name className="font-mono text-xs text-dim">{placeWords(draft.place)}</Name>
              </span>
              <Button kind="quiet" onPress={() => editDraft(draft)} aria-label={`Edit: ${titleOf(draft)}`}>
                Edit
              </Button>
              <Button kind="quiet" onPress={() => removeDraft(id, draft)} aria-label={`Remove: ${titleOf(draft)}`}>
                Remove
              </Button>
            </li>
          ))}
        </ul>
      )}
      {left > 0 && (
        <p className="text-warn">
          {left === 1 ? "One draft is" : `${left} drafts are`} for another content and not sent.{" "}
          <Button
            kind="quiet"
            onPress={() => {
              onClose();
              go({ tab: "findings" }, true);
            }}
          >
            Show
          </Button>
        </p>
      )}
    </section>
  );
}
