import { useQuery } from "@tanstack/react-query";
import type { SeatState } from "../../api/generated";
import { Name, UserText } from "../../text/UserText";
import { duration } from "../../time";
import { Button } from "../../ui/Button";
import { Money } from "../../ui/Money";
import { SEVERITIES, SeverityCounts } from "../../ui/Status";
import { Time } from "../../ui/Time";
import { freeSeats, isOpen, takeOverSeats } from "./model";
import { proposal } from "./queries";
import { useReview } from "./ReviewContext";

/** What a seat did and cost, and what the reader can do about it. */
export function SeatDetails({ seat, close }: { seat: SeatState; close: () => void }) {
  const { moment, review, me, issues, can, openDialog } = useReview();
  const { data } = useQuery(proposal(moment, review.current_round));
  const effort = (data?.effort?.by_reviewer ?? []).filter(({ persona }) => persona === seat.persona);
  const cost = effort.reduce((sum, { cost_usd }) => sum + cost_usd, 0);
  const took = effort.reduce((sum, { duration_ms }) => sum + duration_ms, 0);
  const open = issues.filter((issue) => issue.persona === seat.persona && issue.status === "open");
  const counts = Object.fromEntries(
    SEVERITIES.map((one) => [one, open.filter(({ severity }) => severity === one).length]),
  );
  const isFree = isOpen(review.status) && freeSeats(review, me).includes(seat) && can.take_seat === null;
  const canTakeOver = can.take_over === null && takeOverSeats(review, me).includes(seat);
  const openSeat = (how: "claim" | "take_over") => {
    close();
    openDialog({ kind: "seat", how, persona: seat.persona });
  };
  return (
    <div className="flex flex-col gap-2">
      <p className="font-semibold">
        Seat <Name>{seat.persona}</Name>
      </p>
      <dl className="grid grid-cols-[auto_1fr] gap-x-3 gap-y-1">
        <dt className="text-dim">Held by</dt>
        <dd>
          <Name>{seat.claimed_by ?? "—"}</Name>
          {seat.claimed_at !== undefined && (
            <>
              , since <Time at={seat.claimed_at} />
            </>
          )}
        </dd>
        {seat.reserved_for !== undefined && (
          <>
            <dt className="text-dim">Reserved for</dt>
            <dd>
              <Name>{seat.reserved_for}</Name>
            </dd>
          </>
        )}
        {seat.lease_ends_at !== undefined && (
          <>
            <dt className="text-dim">Claim ends</dt>
            <dd>
              <Time at={seat.lease_ends_at} />, unless it is active before
            </dd>
          </>
        )}
        <dt className="text-dim">Open findings</dt>
        <dd>{open.length === 0 ? "none" : <SeverityCounts counts={counts} />}</dd>
        <dt className="text-dim">Cost</dt>
        <dd>
          <Money usd={cost === 0 ? null : cost} />
          {took > 0 && `, ${duration(took)}`}
        </dd>
      </dl>
      {seat.could_not_review !== undefined && <UserText text={seat.could_not_review} className="text-warn" />}
      <div className="flex gap-2 empty:hidden">
        {isFree && <Button onPress={() => openSeat("claim")}>Take this seat</Button>}
        {canTakeOver && <Button onPress={() => openSeat("take_over")}>Take it over</Button>}
      </div>
    </div>
  );
}
