import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { cliLines } from "../../cliLines";
import { keyOf } from "../../keys/bindings";
import { inertLine } from "../../text/inert";
import { Name } from "../../text/UserText";
import { proposerOf } from "../../turns";
import { Button } from "../../ui/Button";
import { CliLine } from "../../ui/CliLine";
import { Money } from "../../ui/Money";
import { usePageTitle } from "../../ui/Page";
import { Status } from "../../ui/Status";
import { Time } from "../../ui/Time";
import { Banners } from "./Banners";
import { shortHash } from "./model";
import { proposal } from "./queries";
import { useStartReplay } from "./Replay";
import { useReview } from "./ReviewContext";
import { Turns } from "./Turns";

/** What the review is, in which state, and what the reader should not miss. */
export function ReviewHead() {
  const { moment, review } = useReview();
  const heading = usePageTitle(`${review.number} ${review.intent}`);
  return (
    <header className="flex flex-col gap-1 border-b border-line px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h1
          ref={heading}
          tabIndex={-1}
          className="line-clamp-2 text-lg font-semibold"
          title={inertLine(review.intent, 2_000)}
        >
          {review.number} <Name>{review.intent}</Name>
        </h1>
        <span role="status" aria-label="Review status">
          <Status status={review.status} />
        </span>
      </div>
      <div className="flex items-center gap-x-4">
        <Facts />
        <span className="grow" />
        {moment.at === null && <ReplayButton />}
        <span className="max-xl:hidden" data-print="hide">
          <CliLine
            line={moment.at === null ? cliLines.show(review.number) : cliLines.showAt(review.number, moment.at)}
          />
        </span>
      </div>
      <Turns />
      <Banners />
    </header>
  );
}

function ReplayButton() {
  const { review } = useReview();
  return (
    <span data-print="hide">
      <Button kind="quiet" shortcut={keyOf("replay")} onPress={useStartReplay(review.version)}>
        Replay
      </Button>
    </span>
  );
}

function Facts() {
  const { moment, review, shown } = useReview();
  const { data } = useQuery(proposal(moment, shown.round));
  const { target, policy } = review;
  const files = data?.affected_files ?? [];
  const total = data?.affected_files_total ?? 0;
  const sum = (of: (file: (typeof files)[number]) => number) => files.reduce((all, file) => all + of(file), 0);
  return (
    <dl className="flex flex-wrap gap-x-4 gap-y-1 text-dim">
      <Fact name="Proposed by">
        <Name>{proposerOf(review)}</Name>
      </Fact>
      {target !== undefined && (
        <Fact name="Branch">
          <Name>{target.name}</Name> <span aria-hidden="true">→</span>
          <span className="sr-only">into</span>{" "}
          <Name>{target.base_name ?? shortHash(target.base ?? "the empty tree")}</Name>
        </Fact>
      )}
      <Fact name="Round">
        round {review.current_round} of {policy.max_rounds}
      </Fact>
      {total > 0 && (
        <Fact name="Size">
          {total} {total === 1 ? "file" : "files"}
          {files.length === total && (
            <>
              {" "}
              <span className="text-ok">+{sum((file) => file.added)}</span>{" "}
              <span className="text-bad">−{sum((file) => file.removed)}</span>
            </>
          )}
        </Fact>
      )}
      <Fact name="Opened">
        opened <Time at={review.created_at} />
      </Fact>
      <Fact name="Cost">
        cost <Money usd={review.cost_usd} />
        {policy.max_cost_usd !== undefined && (
          <>
            {" "}
            of <Money usd={policy.max_cost_usd} />
          </>
        )}
      </Fact>
      {review.priority !== "normal" && <Fact name="Priority">{review.priority} priority</Fact>}
      {review.category !== undefined && review.category !== "code_change" && (
        <Fact name="Kind">{review.category.replace("_", " ")}</Fact>
      )}
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt className="sr-only">{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
