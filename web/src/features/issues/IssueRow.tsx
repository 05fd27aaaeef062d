// biome-ignore-all lint/a11y/useSemanticElements: rows are placed by the virtual list, which elements of a table are not
// biome-ignore-all lint/a11y/useFocusableInteractive: the link in the row takes the focus
import { Link } from "@tanstack/react-router";
import type { Issue } from "../../api/generated";
import { rowAttribute } from "../../keys/useRowKeys";
import { inertLine } from "../../text/inert";
import { Name } from "../../text/UserText";
import { Severity } from "../../ui/Status";
import { Age } from "../../ui/Time";
import { anchorWords, placeText } from "./model";

/** The widths of the columns on a wide screen. */
export const columns = {
  select: "shrink-0 xl:w-10",
  severity: "shrink-0 xl:w-20",
  title: "min-w-0 max-xl:order-first max-xl:w-full xl:flex-1",
  where: "min-w-0 break-all xl:w-56 xl:shrink-0",
  review: "shrink-0 xl:w-16",
  seat: "truncate xl:w-24 xl:shrink-0",
  status: "shrink-0 xl:w-24",
  age: "shrink-0 text-right max-xl:ml-auto xl:w-14",
};

interface IssueRowProps {
  issue: Issue;
  isSelected: boolean;
  onSelect: (isSelected: boolean) => void;
}

/** The cells of an issue. The link leads to its lines in the review. */
export function IssueRow({ issue, isSelected, onSelect }: IssueRowProps) {
  const anchor = anchorWords(issue);
  const place = placeText(issue);
  return (
    <div
      className={`flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2 xl:flex-nowrap ${isSelected ? "bg-accent-bg" : ""}`}
    >
      <span role="cell" className={`relative z-10 ${columns.select}`}>
        <input
          type="checkbox"
          aria-label={`Select ${issue.issue_id}`}
          checked={isSelected}
          onChange={({ target }) => onSelect(target.checked)}
          className="size-4 accent-accent"
        />
      </span>
      <span role="cell" className={columns.severity}>
        <Severity severity={issue.severity} />
      </span>
      <span role="cell" className={columns.title}>
        <Link
          to="/r/$review"
          params={{ review: issue.number ?? "" }}
          search={{ finding: issue.issue_id }}
          {...rowAttribute(issue.issue_id)}
          className="flex items-baseline gap-2 text-text no-underline after:absolute after:inset-0 hover:no-underline focus-visible:outline-none focus-visible:after:rounded-sm focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
        >
          <span className="shrink-0 whitespace-nowrap text-dim">{issue.issue_id}</span>
          <Name className="line-clamp-2 font-medium xl:line-clamp-1">{issue.title}</Name>
        </Link>
        {issue.blocks === true && <span className="text-xs font-medium text-bad">■ blocks approval</span>}
      </span>
      <span role="cell" className={`text-xs ${columns.where}`}>
        {place === "" ? <span className="text-dim">whole proposal</span> : <Name className="font-mono">{place}</Name>}
        {anchor !== null && <span className="block text-warn">{anchor}</span>}
      </span>
      <span role="cell" className={columns.review} title={inertLine(issue.review_intent ?? "")}>
        {issue.number}
      </span>
      <span role="cell" className={`text-dim ${columns.seat}`} title={inertLine(`raised by ${issue.reviewer_id}`)}>
        <Name>{issue.persona}</Name>
      </span>
      <span role="cell" className={`text-xs text-dim ${columns.status}`}>
        {statusText(issue)}
      </span>
      <span role="cell" className={`text-dim ${columns.age}`}>
        <span className="sr-only">age </span>
        <Age at={issue.created_at} />
      </span>
    </div>
  );
}

function statusText({ status, proposer_says }: Issue): string {
  if (status === "open")
    return proposer_says === undefined ? "○ open" : `◐ says ${proposer_says.says.replace("_", " ")}`;
  return status === "fixed" ? "✓ fixed" : status === "wont_fix" ? "⊘ won't fix" : "= duplicate";
}
