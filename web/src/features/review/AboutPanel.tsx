import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { cliLines } from "../../cliLines";
import { Name } from "../../text/UserText";
import { proposerOf } from "../../turns";
import { CliLine } from "../../ui/CliLine";
import { Fold } from "../../ui/Fold";
import { Time } from "../../ui/Time";
import { EffortTable } from "./EffortTable";
import { ruleWords, shortHash } from "./model";
import { PlanChanges } from "./PlanChanges";
import { PlanText } from "./PlanText";
import { description, proposal } from "./queries";
import { useReview } from "./ReviewContext";
import { ReviewSentence } from "./ReviewText";

/** Everything else about the review: description, commits, rule, effort, commands. */
export function AboutPanel() {
  const { review } = useReview();
  const { number } = review;
  return (
    <div className="flex flex-col gap-4 p-4">
      {review.has_diff && <Description />}
      <Section title="Decision">
        <p>{ruleWords(review.policy, review.seats.length)}</p>
        <p>
          <ReviewSentence text={review.consensus.why} />
        </p>
        <p className="text-dim">
          From round {review.policy.max_rounds} on, a request for changes also asks an operator.
        </p>
      </Section>
      <Facts />
      <Commits />
      <Section title="Effort">
        <EffortTable />
      </Section>
      <Section title="In a terminal">
        {[cliLines.show(number), cliLines.diff(number), cliLines.approve(number), cliLines.requestChanges(number)].map(
          (line) => (
            <div key={line}>
              <CliLine line={line} />
            </div>
          ),
        )}
        <p>
          <a href={`/api/v1/reviews/${encodeURIComponent(number)}/patch`}>The change as a mail for git am</a>
          {" · "}
          <a href={`/api/v1/reviews/${encodeURIComponent(number)}/export?format=markdown`} download>
            The whole review as a report
          </a>
        </p>
      </Section>
    </div>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="flex flex-col gap-1">
      <h2 className="font-semibold">{title}</h2>
      {children}
    </section>
  );
}

function Description() {
  const { moment, shown } = useReview();
  const { data = "" } = useQuery({
    ...description(moment, shown.round, shown.hash ?? ""),
    enabled: shown.hash !== null,
  });
  const before = useQuery({
    ...description(moment, shown.since ?? 1, shown.sinceHash ?? ""),
    enabled: shown.sinceHash !== null,
  }).data;
  if (data.trim() === "") return null;
  return (
    <Section title="Description">
      {shown.since !== null && before !== undefined && before !== data && (
        <Fold title={`What changed since round ${shown.since}`} isOpenFirst>
          <PlanChanges before={before} after={data} />
        </Fold>
      )}
      <PlanText text={data} />
    </Section>
  );
}

function Facts() {
  const { review } = useReview();
  const rows: [string, ReactNode][] = [
    ["Full title", <Name key="title">{review.intent}</Name>],
    ["Proposed by", <Name key="by">{`${proposerOf(review)} (${review.agent_type}, ${review.agent_role})`}</Name>],
    ["Opened", <Time key="opened" at={review.created_at} />],
    ["Last change", <Time key="changed" at={review.updated_at} />],
    ["Phase", <Name key="phase">{review.phase}</Name>],
    ["Content", <code key="hash">{review.content_hash}</code>],
  ];
  if (review.approved_hash !== undefined) rows.push(["Approved", <code key="approved">{review.approved_hash}</code>]);
  if (review.base_commit !== undefined) rows.push(["Base", <code key="base">{review.base_commit}</code>]);
  if (review.tree_id !== undefined) rows.push(["Resulting tree", <code key="tree">{review.tree_id}</code>]);
  if (review.project !== undefined) rows.push(["Project", <Name key="project">{review.project}</Name>]);
  if (review.plan !== undefined) rows.push(["Plan", <Name key="plan">{review.plan}</Name>]);
  if (review.task !== undefined) rows.push(["Task", <Name key="task">{review.task}</Name>]);
  return (
    <Section title="Facts">
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
        {rows.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-dim">{name}</dt>
            <dd className="min-w-0">{value}</dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}

function Commits() {
  const { moment, shown } = useReview();
  const { data } = useQuery(proposal(moment, shown.round));
  const commits = data?.target?.commits ?? [];
  const total = data?.target?.commits_total ?? 0;
  if (commits.length === 0) return null;
  return (
    <Section title={`Commits (${total})`}>
      <ul className="flex flex-col gap-1">
        {commits.map(({ id: commit, subject }) => (
          <li key={commit} className="flex gap-2">
            <code className="text-dim">{shortHash(commit)}</code>
            <Name className="min-w-0">{subject}</Name>
          </li>
        ))}
        {total > commits.length && <li className="text-dim">and {total - commits.length} older ones</li>}
      </ul>
    </Section>
  );
}
