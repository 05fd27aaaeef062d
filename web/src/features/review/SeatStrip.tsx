import { Button as AriaButton, Dialog, DialogTrigger, Popover } from "react-aria-components";
import type { SeatState } from "../../api/generated";
import { Name } from "../../text/UserText";
import { Chip, Verdict } from "../../ui/Status";
import { Time } from "../../ui/Time";
import { ruleWords } from "./model";
import { useReview } from "./ReviewContext";
import { ReviewSentence } from "./ReviewText";
import { RoundPicker } from "./RoundPicker";
import { SeatDetails } from "./SeatDetails";

/** The seats with their votes, the rule, and what an approval still needs. */
export function SeatStrip() {
  const { review } = useReview();
  const { consensus, seats, policy } = review;
  return (
    <section aria-label="Seats" className="flex flex-col gap-1 border-b border-line px-4 py-2">
      <div className="flex items-center gap-2">
        <p className="mr-1 font-medium whitespace-nowrap">
          {consensus.approvals} of {consensus.approvals_needed}{" "}
          {consensus.approvals_needed === 1 ? "approval" : "approvals"}
        </p>
        <ul className="flex min-w-0 gap-2 max-md:overflow-x-auto md:flex-wrap">
          {seats.map((seat) => (
            <li key={seat.persona} className="shrink-0">
              <SeatChip seat={seat} />
            </li>
          ))}
        </ul>
        <span className="grow" />
        <div className="max-xl:hidden">
          <RoundPicker />
        </div>
      </div>
      <p className="text-xs text-dim max-md:hidden">
        {ruleWords(policy, seats.length)} <ReviewSentence text={sentence(consensus.why)} />
      </p>
    </section>
  );
}

function sentence(why: string): string {
  return why === "" ? "" : `${why.charAt(0).toUpperCase()}${why.slice(1)}.`;
}

function SeatChip({ seat }: { seat: SeatState }) {
  const who = seat.claimed_by ?? seat.reserved_for;
  return (
    <DialogTrigger>
      <AriaButton className="flex items-center gap-2 rounded border border-line bg-raised px-2 py-1 hover:bg-hover">
        <Name className="font-medium">{seat.persona}</Name>
        <SeatMark seat={seat} />
        {who !== undefined && <Name className="text-dim max-sm:sr-only">{who}</Name>}
        {seat.claimed_at !== undefined && seat.verdict === undefined && (
          <span className="text-xs text-dim max-sm:sr-only">
            <Time at={seat.claimed_at} />
          </span>
        )}
      </AriaButton>
      <Popover className="w-96 max-w-full rounded border border-line bg-bg shadow-dialog">
        <Dialog aria-label={`Seat ${seat.persona}`} className="p-3 outline-none">
          {({ close }) => <SeatDetails seat={seat} close={close} />}
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}

/** How a seat stands, as glyph and word. */
function SeatMark({ seat }: { seat: SeatState }) {
  if (seat.verdict !== undefined) return <Verdict verdict={seat.verdict} />;
  if (seat.claimed_by !== undefined) return <Chip glyph="◐" word="reviewing" colours="bg-accent-bg text-accent" />;
  if (seat.could_not_review !== undefined)
    return <Chip glyph="!" word="could not review" colours="bg-warn-bg text-warn" />;
  if (seat.reserved_for !== undefined) return <Chip glyph="◌" word="reserved for" colours="bg-bg text-dim" />;
  return <Chip glyph="○" word="free" colours="bg-bg text-dim" />;
}
