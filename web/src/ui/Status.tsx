import type { Severity as SeverityName, Status as StatusName, Verdict as VerdictName } from "../api/generated";

/** Status is never colour alone: a glyph and a word, always. */
const STATUS: Record<StatusName, readonly [glyph: string, word: string, colours: string]> = {
  pending: ["○", "pending", "bg-raised text-dim"],
  claimed: ["◐", "claimed", "bg-accent-bg text-accent"],
  in_review: ["◐", "in review", "bg-accent-bg text-accent"],
  changes_requested: ["▲", "changes requested", "bg-warn-bg text-warn"],
  approved: ["✓", "approved", "bg-ok-bg text-ok"],
  rejected: ["✗", "rejected", "bg-bad-bg text-bad"],
  cancelled: ["⊘", "cancelled", "bg-raised text-dim"],
  closed: ["□", "closed", "bg-raised text-dim"],
};

export const statusGlyph = (status: StatusName): string => STATUS[status][0];
export const statusWord = (status: StatusName): string => STATUS[status][1];

export function Status({ status }: { status: StatusName }) {
  const [glyph, word, colours] = STATUS[status];
  return <Chip glyph={glyph} word={word} colours={colours} />;
}

const VERDICT: Record<VerdictName, readonly [glyph: string, word: string, colours: string]> = {
  approved: ["✓", "approved", "bg-ok-bg text-ok"],
  changes_requested: ["▲", "changes requested", "bg-warn-bg text-warn"],
  rejected: ["✗", "rejected", "bg-bad-bg text-bad"],
  comment: ["…", "comment", "bg-raised text-dim"],
};

export const verdictWord = (verdict: VerdictName): string => VERDICT[verdict][1];

export function Verdict({ verdict }: { verdict: VerdictName }) {
  const [glyph, word, colours] = VERDICT[verdict];
  return <Chip glyph={glyph} word={word} colours={colours} />;
}

const SEVERITY: Record<SeverityName, readonly [glyph: string, colour: string]> = {
  critical: ["■", "text-sev-critical"],
  high: ["▲", "text-sev-high"],
  medium: ["●", "text-sev-medium"],
  low: ["○", "text-sev-low"],
};

export const SEVERITIES = ["critical", "high", "medium", "low"] as const satisfies readonly SeverityName[];

export function Severity({ severity, count }: { severity: SeverityName; count?: number }) {
  const [glyph, colour] = SEVERITY[severity];
  return (
    <span className={`whitespace-nowrap font-medium ${colour}`}>
      <span aria-hidden="true">{glyph}</span> {count === undefined ? severity : `${count} ${severity}`}
    </span>
  );
}

/** Counts by severity, the glyph for the eye and the word for readers. Nothing if all are zero. */
export function SeverityCounts({ counts }: { counts: Partial<Record<SeverityName, number>> }) {
  const present = SEVERITIES.filter((severity) => (counts[severity] ?? 0) > 0);
  return (
    <span className="inline-flex gap-2">
      {present.map((severity) => (
        <span key={severity} className={SEVERITY[severity][1]} title={`${counts[severity]} open, ${severity}`}>
          <span aria-hidden="true">{SEVERITY[severity][0]}</span> {counts[severity]}
          <span className="sr-only"> {severity}</span>
        </span>
      ))}
    </span>
  );
}

export function Chip({ glyph, word, colours }: { glyph: string; word: string; colours: string }) {
  return (
    <span
      className={`inline-flex items-center gap-1 rounded-full px-2 text-xs font-medium whitespace-nowrap ${colours}`}
    >
      <span aria-hidden="true">{glyph}</span> {word}
    </span>
  );
}
