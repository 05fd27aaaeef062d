// biome-ignore-all lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by key
import { Name } from "../../text/UserText";
import { Toggle } from "../../ui/Toggle";
import { count, money, percent, type Stats, time } from "./model";
import { DIVISIONS, type Division } from "./search";

type Group = NonNullable<Stats["groups"]>[number];

const WORDS: Record<Division, string> = { persona: "Persona", reviewer: "Reviewer", category: "Category" };

interface GroupTableProps {
  stats: Stats;
  division: Division;
  onChange: (division: Division) => void;
}

/** The work of each persona or reviewer, or on each category. */
export function GroupTable({ stats, division, onChange }: GroupTableProps) {
  const groups = stats.group_by === division ? (stats.groups ?? []) : [];
  return (
    <section aria-labelledby="by-group" className="flex min-w-0 flex-col gap-2 rounded border border-line p-3">
      <div className="flex flex-wrap items-center gap-3">
        <h2 id="by-group" className="font-semibold">
          Work
        </h2>
        <fieldset className="flex rounded border border-line">
          <legend className="sr-only">Divided by</legend>
          {DIVISIONS.map((each) => (
            <Toggle
              key={each}
              isSelected={each === division}
              onChange={() => onChange(each)}
              className="rounded px-2 text-xs hover:bg-hover data-selected:bg-accent-bg data-selected:font-semibold"
            >
              By {each}
            </Toggle>
          ))}
        </fieldset>
      </div>
      <section className="overflow-x-auto" tabIndex={0} aria-label={`Work by ${division}`}>
        <Rows groups={groups} division={division} />
      </section>
      {stats.more_groups !== undefined && <p className="text-xs text-dim">and {count(stats.more_groups)} more</p>}
    </section>
  );
}

/** Share of fixed ones among all issues of the group. */
function fixedRate({ issues }: Group): number | null {
  return issues.total === 0 ? null : (issues.by_status.fixed ?? 0) / issues.total;
}

const COLUMNS: readonly (readonly [name: string, title: string, value: (group: Group) => string])[] = [
  ["Reviews", "Reviews with a verdict", ({ work }) => count(work.reviews)],
  ["Votes", "Votes that were given", ({ work }) => count(work.votes)],
  ["Approved", "Share of approvals among votes", ({ work }) => percent(work.approval_rate)],
  ["Agrees", "Share of votes that agree with the outcome of their review", ({ work }) => percent(work.agreement_rate)],
  ["Issues", "Issues raised", ({ issues }) => count(issues.total)],
  ["Fixed", "Share of fixed issues", (group) => percent(fixedRate(group))],
  ["Disputed", "Issues that their proposer disputed", ({ issues }) => count(issues.disputes.total)],
  ["Upheld", "Share of disputes that were upheld", ({ issues }) => percent(issues.disputes.upheld_rate)],
  ["Time", "Mean time from claim to vote", ({ work }) => time(work.average_ms)],
  ["Cost", "Cost that verdicts report", ({ work }) => money(work.cost_usd)],
];

function Rows({ groups, division }: { groups: readonly Group[]; division: Division }) {
  return (
    <table className="w-full text-sm tabular-nums">
      <thead className="text-left text-dim">
        <tr>
          <th scope="col" className="font-medium">
            {WORDS[division]}
          </th>
          {COLUMNS.map(([name, title]) => (
            <th key={name} scope="col" title={title} className="pl-3 text-right font-medium">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {groups.map((group) => (
          <tr key={group.group} className="border-t border-line">
            <th scope="row" className="max-w-60 truncate text-left font-normal">
              <Name>{group.group}</Name>
            </th>
            {COLUMNS.map(([name, , value]) => (
              <td key={name} className="pl-3 text-right whitespace-nowrap">
                {value(group)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
