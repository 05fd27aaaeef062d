import { useState } from "react";
import type { Issue } from "../../api/generated";
import { Button } from "../../ui/Button";
import { settleChoices } from "./findings";
import { MessageForm } from "./MessageForm";
import { useReview } from "./ReviewContext";

/** Reply, and what the reader may decide about the finding. Who may not sees who may. */
export function FindingActions({ issue }: { issue: Issue }) {
  const { moment, review, me, can, openDialog } = useReview();
  const [isReplying, setReplying] = useState(false);
  if (moment.at !== null) return null;
  const choices = settleChoices(issue, review, me);
  return (
    <div className="flex flex-col gap-2" data-print="hide">
      <div className="-mx-3 flex flex-wrap items-center px-1">
        {can.message === null && (
          <Button kind="quiet" onPress={() => setReplying(!isReplying)} aria-expanded={isReplying}>
            Reply
          </Button>
        )}
        {choices.map(({ status, label }) => (
          <Button
            key={status}
            kind="quiet"
            onPress={() => openDialog({ kind: "settle", issueId: issue.issue_id, status })}
          >
            {label}
          </Button>
        ))}
        {choices.length === 0 && issue.status === "open" && (
          <span className="text-xs text-dim">
            Its reviewer, the proposer and operators can answer it while the review is open.
          </span>
        )}
      </div>
      {isReplying && (
        <MessageForm
          name={`reply.${review.review_id}.${issue.issue_id}`}
          label={`Reply to ${issue.issue_id}`}
          anchor={{ issue: issue.issue_id }}
          persona={issue.persona}
          onClose={() => setReplying(false)}
          isFocusedFirst
        />
      )}
    </div>
  );
}
