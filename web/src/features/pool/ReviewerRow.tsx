import { Link } from "@tanstack/react-router";
import type { Reviewer } from "../../api/generated";
import { rowAttribute } from "../../keys/useRowKeys";
import { Name } from "../../text/UserText";
import { duration } from "../../time";
import { Button } from "../../ui/Button";
import { Money } from "../../ui/Money";
import { LastWords } from "../../ui/PoolHelp";
import { Chip } from "../../ui/Status";
import { Age, Time } from "../../ui/Time";
import { approvalShare, doingWords, isLive, reviewerLook, reviewsOf } from "./model";
import type { OpenDialog } from "./PoolDialogs";

interface ReviewerRowProps {
  reviewer: Reviewer;
  /** Absent where it cannot be stopped. */
  onStop?: (dialog: OpenDialog) => void;
}

/** One reviewer: what it does, since when, what it has done, and its last words. */
export function ReviewerRow({ reviewer, onStop }: ReviewerRowProps) {
  const { reviewer_id, name, project, persona, spawned_at, ended_at, last_words = [] } = reviewer;
  const [glyph, word, colours] = reviewerLook(reviewer);
  return (
    <li data-row-frame="" className="flex flex-col gap-1 border-b border-line px-3 py-2 last:border-b-0 hover:bg-hover">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Link
          to="/pool/$reviewer"
          params={{ reviewer: reviewer_id }}
          className="font-medium"
          title={reviewer_id}
          {...rowAttribute(reviewer_id)}
        >
          <Name>{name}</Name>
        </Link>
        <Chip glyph={glyph} word={word} colours={colours} />
        <Doing reviewer={reviewer} />
        <span className="text-dim">
          <Name>{[project, persona].filter((each) => each !== undefined).join(" · ")}</Name>
        </span>
        <span className="grow" />
        <span className="text-dim">
          {ended_at === undefined ? (
            <>
              since <Age at={spawned_at} />
            </>
          ) : (
            <>
              ended <Time at={ended_at} />
            </>
          )}
        </span>
        {onStop !== undefined && <StopButtons reviewer={reviewer} onStop={onStop} />}
      </div>
      <Figures reviewer={reviewer} />
      <LastWords lines={last_words} />
    </li>
  );
}

function Doing({ reviewer }: { reviewer: Reviewer }) {
  const reviews = reviewsOf(reviewer);
  if (reviews.length === 0) return <Name>{doingWords(reviewer)}</Name>;
  return (
    <span className="inline-flex gap-2">
      {reviews.map((review) => (
        <Link key={review} to="/r/$review" params={{ review }}>
          {review}
        </Link>
      ))}
      {reviewer.exit !== undefined && <Name className="text-dim">{reviewer.exit}</Name>}
    </span>
  );
}

/** What it has done: votes, how many of them approved, mean time, tokens and cost. */
function Figures({ reviewer }: { reviewer: Reviewer }) {
  const { completed, average_ms, cost_usd, turns, why, runtime, input_tokens, output_tokens } = reviewer;
  const share = approvalShare(reviewer);
  const tokens = input_tokens === undefined ? null : input_tokens + (output_tokens ?? 0);
  return (
    <p className="flex flex-wrap gap-x-3 text-xs text-dim">
      <span>
        {completed} {completed === 1 ? "review" : "reviews"} done
      </span>
      {share !== null && <span>{share} % approved</span>}
      {average_ms !== undefined && <span>{duration(average_ms)} on average</span>}
      {turns !== undefined && (
        <span>
          {turns} {turns === 1 ? "turn" : "turns"}
        </span>
      )}
      <span>
        cost <Money usd={cost_usd} />
      </span>
      {tokens !== null && <span>{tokens.toLocaleString("en")} tokens</span>}
      <span>
        <Name>{runtime}</Name>, {why.replaceAll("_", " ")}
      </span>
    </p>
  );
}

function StopButtons({ reviewer, onStop }: { reviewer: Reviewer; onStop: (dialog: OpenDialog) => void }) {
  const isWaiting = reviewer.turns !== undefined && !isLive(reviewer);
  if (!isLive(reviewer) && !isWaiting) return null;
  const { name, state } = reviewer;
  return (
    <span className="inline-flex gap-2">
      {isLive(reviewer) && state !== "draining" && (
        <Button
          kind="quiet"
          aria-label={`Drain ${name}`}
          onPress={() => onStop({ kind: "stop", reviewer, isForced: false })}
        >
          Drain
        </Button>
      )}
      <Button
        kind="quiet"
        aria-label={`Stop ${name} now`}
        onPress={() => onStop({ kind: "stop", reviewer, isForced: true })}
      >
        Stop now
      </Button>
    </span>
  );
}
