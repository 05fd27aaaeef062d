import { useQuery } from "@tanstack/react-query";
import { Name } from "../../text/UserText";
import { Fold } from "../../ui/Fold";
import { Time } from "../../ui/Time";
import { MessageCard } from "./MessageCard";
import { description } from "./queries";
import { useReview } from "./ReviewContext";
import { ReviewSentence, ReviewText } from "./ReviewText";
import { type Entry, type EventEntry, eventWords } from "./stream";
import { VerdictEntry } from "./VerdictEntry";

/** One entry of the conversation. */
export function StreamEntry({ entry }: { entry: Entry }) {
  if (entry.kind === "message") return <MessageCard message={entry.message} />;
  if (entry.kind === "verdict") return <VerdictEntry entry={entry} />;
  return entry.kind === "round" ? <RoundEntry entry={entry} /> : <QuietEntry entry={entry} />;
}

/** The start of a round: who submitted it, and what changed. */
function RoundEntry({ entry }: { entry: EventEntry }) {
  const { actor, kind, change_note, content_hash } = entry.event;
  return (
    <article aria-label={`Round ${entry.round}`} className="border-t-2 border-line pt-2 first:border-t-0 first:pt-0">
      <header className="flex items-baseline gap-2">
        <h3 className="font-semibold">Round {entry.round}</h3>
        <span className="text-dim">
          <Name>{actor ?? "the broker"}</Name> {kind === "revised" ? "revised it" : "proposed it"}
        </span>
        <span className="grow" />
        <span className="text-xs text-dim">
          <Time at={entry.at} />
        </span>
      </header>
      {change_note !== undefined && <ReviewText text={change_note} />}
      {kind === "proposed" && content_hash !== undefined && <Description round={entry.round} hash={content_hash} />}
    </article>
  );
}

const SHORT_CHARS = 600;

/** What the proposer wrote about the change. A plan stands in the middle of the page already. */
function Description({ round, hash }: { round: number; hash: string }) {
  const { moment, review } = useReview();
  const { data = "" } = useQuery({ ...description(moment, round, hash), enabled: review.has_diff });
  if (!review.has_diff || data.trim() === "") return null;
  if (data.length <= SHORT_CHARS) return <ReviewText text={data} />;
  return (
    <Fold title={`Description, ${data.length} characters`}>
      <ReviewText text={data} />
    </Fold>
  );
}

function QuietEntry({ entry }: { entry: EventEntry }) {
  const { actor, reason, note } = entry.event;
  return (
    <div className="flex flex-col text-xs text-dim">
      <p className="flex items-baseline gap-2">
        <span className="min-w-0">
          {actor !== undefined && <Name className="font-medium">{actor}</Name>}{" "}
          <ReviewSentence text={eventWords(entry.event)} />
        </span>
        <span className="grow" />
        <Time at={entry.at} />
      </p>
      {(reason ?? note) !== undefined && (
        <div className="border-l-2 border-line pl-2">
          <ReviewText text={reason ?? note ?? ""} />
        </div>
      )}
    </div>
  );
}
