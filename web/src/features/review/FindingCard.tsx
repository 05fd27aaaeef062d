import { useState } from "react";
import type { Issue } from "../../api/generated";
import { Name } from "../../text/UserText";
import { Press } from "../../ui/Press";
import { Severity } from "../../ui/Status";
import { FindingActions } from "./FindingActions";
import { FindingBadges } from "./FindingBadges";
import { FindingBody } from "./FindingBody";
import { type Place, placeWords } from "./findings";
import { useReview } from "./ReviewContext";

const EDGES = {
  critical: "border-l-sev-critical",
  high: "border-l-sev-high",
  medium: "border-l-sev-medium",
  low: "border-l-sev-low",
} as const;

const STATUS_WORDS = { open: "open", fixed: "✓ fixed", wont_fix: "⊘ won't fix", duplicate: "= duplicate" } as const;

interface FindingCardProps {
  issue: Issue;
  /** Where it stands, for lists. In the diff the place is clear. */
  place?: Place | null;
  isOpenFirst?: boolean;
}

/** A finding with its text, its history and what the reader can do about it. Settled ones show only their title at first. */
export function FindingCard({ issue, place = null, isOpenFirst = issue.status === "open" }: FindingCardProps) {
  const [isUnfolded, setUnfolded] = useState(isOpenFirst);
  const { review, goToFinding } = useReview();
  const { issue_id, severity, status, title, persona, reviewer_id, confidence, type: kind } = issue;
  return (
    <article
      aria-label={`Finding ${issue_id}`}
      data-finding={issue_id}
      className={`min-w-0 rounded border border-l-4 border-line bg-raised font-sans text-sm whitespace-normal ${EDGES[severity]}`}
    >
      <div className="flex items-start gap-2 px-3 pt-2 pb-1">
        <div className="min-w-0 flex-1">
          <p className={status === "open" ? "" : "text-dim"}>
            <Severity severity={severity} /> <span className="font-medium">{issue_id}</span>{" "}
            <Name className="font-semibold">{title}</Name>
          </p>
          <p className="text-xs text-dim">
            <Name>{persona}</Name> · <Name>{reviewer_id}</Name> · {STATUS_WORDS[status]}
            {kind !== "other" && ` · ${kind.replaceAll("_", " ")}`}
            {issue.round !== review.current_round && ` · round ${issue.round}`}
            {confidence !== undefined && ` · ${Math.round(confidence * 100)} % sure`}
            {place !== null && (
              <>
                {" · "}
                <Press className="rounded-sm text-accent hover:underline" onPress={() => goToFinding(issue_id)}>
                  <Name className="font-mono">{placeWords(place)}</Name>
                </Press>
              </>
            )}
          </p>
          <FindingBadges issue={issue} />
        </div>
        <Press
          aria-expanded={isUnfolded}
          aria-label={`${issue_id}: ${isUnfolded ? "fold" : "unfold"}`}
          onPress={() => setUnfolded(!isUnfolded)}
          className="flex size-6 shrink-0 items-center justify-center rounded text-dim hover:bg-hover"
        >
          <span aria-hidden="true">{isUnfolded ? "▾" : "▸"}</span>
        </Press>
      </div>
      {isUnfolded && (
        <div className="flex flex-col gap-2 px-3 pb-2">
          <FindingBody issue={issue} />
          <FindingActions issue={issue} />
        </div>
      )}
    </article>
  );
}
