import { Name } from "../../text/UserText";
import { duration, useNow } from "../../time";
import { turnsOf } from "../../turns";
import { Time } from "../../ui/Time";
import { mySeat, turnWords } from "./model";
import { useReview } from "./ReviewContext";

/** Whose turn it is, the reader's own first. */
export function Turns() {
  const { review, me } = useReview();
  const mine = turnsOf(review, me);
  const others = review.waiting_on.filter((turn) => !mine.includes(turn));
  const all = [...mine, ...others];
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
      <ul aria-label="Whose turn it is" className="flex min-w-0 flex-wrap gap-x-4 gap-y-1">
        {all.length === 0 && <li className="text-dim">Nothing is left to do.</li>}
        {all.map((turn, index) => {
          const isMine = index < mine.length;
          const { who, what } = turnWords(turn, me);
          return (
            <li key={`${turn.who} ${turn.seat ?? ""} ${turn.why}`} className={isMine ? "" : "text-dim"}>
              {isMine && (
                <span className="mr-1 rounded-full bg-accent px-2 text-xs font-medium text-on-accent">your turn</span>
              )}
              <Name className={isMine ? "font-semibold" : "font-medium"}>{who}</Name> <Name>{what}</Name>{" "}
              <span className="text-xs text-dim">
                <Time at={turn.since} />
              </span>
            </li>
          );
        })}
      </ul>
      <Lease />
    </div>
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
    <span className={left < SOON_MS ? "text-warn" : "text-dim"}>
      {left <= 0
        ? "Your claim is expiring."
        : `Your claim of ${seat.persona} lasts ${duration(left)} more; reading renews it.`}
    </span>
  );
}
