import type { Issue } from "../../api/generated";
import { Name } from "../../text/UserText";
import { Chip } from "../../ui/Status";
import { useReview } from "./ReviewContext";

const QUIET = "bg-bg text-dim";
const WARN = "bg-warn-bg text-warn";

/** What is special about a finding, one chip each. */
export function FindingBadges({ issue }: { issue: Issue }) {
  const { review } = useReview();
  const blocks = issue.blocks === true || (review.consensus.blocking ?? []).includes(issue.issue_id);
  const chips: { glyph: string; word: string; colours: string }[] = [];
  if (blocks && issue.status === "open")
    chips.push({ glyph: "■", word: "blocks approval", colours: "bg-bad-bg text-bad" });
  if (issue.is_suggestion === true) chips.push({ glyph: "○", word: "suggestion", colours: QUIET });
  if (issue.likely_fixed === true) chips.push({ glyph: "✓", word: "probably fixed", colours: "bg-ok-bg text-ok" });
  if (issue.oscillating === true) chips.push({ glyph: "↺", word: "came back", colours: WARN });
  if (issue.late === true) chips.push({ glyph: "…", word: "late, does not block", colours: QUIET });
  if ((issue.repeated ?? 0) > 0)
    chips.push({ glyph: "×", word: `raised ${(issue.repeated ?? 0) + 1} times`, colours: QUIET });
  if (issue.anchor === "gone") chips.push({ glyph: "∅", word: "its lines are gone", colours: WARN });
  if (issue.anchor === "modified") chips.push({ glyph: "~", word: "its lines changed", colours: WARN });
  if (issue.anchor === "moved") chips.push({ glyph: "→", word: "its lines moved", colours: QUIET });
  if (issue.grounding === "ungrounded") chips.push({ glyph: "?", word: "not found in the code", colours: WARN });
  if (chips.length === 0) return null;
  return (
    <p className="mt-1 flex flex-wrap gap-1">
      {chips.map((chip) => (
        <Chip key={chip.word} {...chip} />
      ))}
      {issue.raised_at !== undefined && (
        <span className="text-xs text-dim">
          raised at <Name className="font-mono">{issue.raised_at}</Name>
        </span>
      )}
    </p>
  );
}
