import { Name } from "../../text/UserText";
import { duration, useNow } from "../../time";
import { turnsOf } from "../../turns";
import { Age } from "../../ui/Time";
import { mySeat, type PartyTurn, partyTurns } from "./model";
import { useReview } from "./ReviewContext";

/** Whose turn it is, the reader's own first. */
export function Turns() {
  const { review, me } = useReview();
  const mine = turnsOf(review, me);
  const others = review.waiting_on.filter((turn) => !mine.includes(turn));
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
      <ul aria-label="Whose turn it is" className="flex min-w-0 flex-wrap gap-x-4 gap-y-1">
        {review.waiting_on.length === 0 && <li className="text-dim">Nothing is left to do.</li>}
        {partyTurns(mine).map((turn) => (
          <li key={turn.who}>
            <span className="mr-2 rounded-full bg-accent px-2 text-xs font-medium text-on-accent">your turn</span>
            <Tasks turn={turn} />
          </li>
        ))}
        {others.length > 0 && (
          <li className="text-dim md:hidden">
            waits for{" "}
            <Name className="font-medium">
              {partyTurns(others)
                .map(({ who }) => who)
                .join(", ")}
            </Name>
          </li>
        )}
        {partyTurns(others).map((turn) => (
          <li key={turn.who} className="text-dim max-md:hidden">
            waits for <Name className="font-medium text-text">{turn.who}</Name> to <Tasks turn={turn} />
          </li>
        ))}
      </ul>
      <Lease />
    </div>
  );
}

function Tasks({ turn: { tasks, since } }: { turn: PartyTurn }) {
  return (
    <>
      <Name>{tasks.join(", ")}</Name>{" "}
      <span className="text-xs whitespace-nowrap text-dim">
        for <Age at={since} />
      </span>
    </>
  );
}

const SOON_MS = 5 * 60_000;

/** How long the reader's seat stays reserved without any call. The page renews it while it is in sight. */
function Lease() {
  const { review, me } = useReview();
  const seat = mySeat(review, me);
  const now = useNow();
  if (seat?.lease_ends_at === undefined) return null;
  const left = Date.parse(seat.lease_ends_at) - now;
  return (
    <span className={`text-xs ${left < SOON_MS ? "text-warn" : "text-dim"}`}>
      {left <= 0 ? "Your claim is ending." : `Your claim lasts ${duration(left)} more. Reading renews it.`}
    </span>
  );
}
