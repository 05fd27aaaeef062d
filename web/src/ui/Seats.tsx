import type { SeatState } from "../api/generated";
import { inertLine } from "../text/inert";

/** How a seat stands: glyph for the eye, word for readers. */
function seatMark(seat: SeatState): readonly [glyph: string, words: string, colour: string] {
  switch (seat.verdict) {
    case "approved":
      return ["✓", "approved", "text-ok"];
    case "changes_requested":
      return ["▲", "wants changes", "text-warn"];
    case "rejected":
      return ["✗", "rejected", "text-bad"];
    default:
      if (seat.claimed_by !== undefined) return ["◐", "is reviewing", "text-accent"];
      return ["○", seat.reserved_for === undefined ? "free" : "reserved", "text-dim"];
  }
}

function seatWords(seat: SeatState): string {
  const name = seat.claimed_by ?? seat.reserved_for;
  return inertLine(`${seat.persona}: ${name === undefined ? "" : `${name} `}${seatMark(seat)[1]}`);
}

/** The seats of a row, one glyph each, and how many approved. */
export function Seats({ seats }: { seats: readonly SeatState[] }) {
  if (seats.length === 0) return null;
  const approvals = seats.filter((seat) => seat.verdict === "approved").length;
  const words = seats.map(seatWords).join("\n");
  return (
    <span title={words} className="inline-flex items-center gap-1 whitespace-nowrap">
      <span aria-hidden="true" className="inline-flex gap-1">
        {seats.map((seat) => (
          <span key={seat.persona} className={seatMark(seat)[2]}>
            {seatMark(seat)[0]}
          </span>
        ))}
      </span>
      <span aria-hidden="true" className="text-dim">
        {approvals}/{seats.length}
      </span>
      <span className="sr-only">
        {approvals} of {seats.length} approved. {words.replaceAll("\n", ", ")}
      </span>
    </span>
  );
}
