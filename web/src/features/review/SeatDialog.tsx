import { useState } from "react";
import { Name } from "../../text/UserText";
import { takeSeat, useSend } from "./actions";
import { Choice } from "./Choice";
import { FormDialog } from "./FormDialog";
import { freeSeats, takeOverSeats } from "./model";
import { useReview } from "./ReviewContext";

interface SeatDialogProps {
  how: "claim" | "take_over";
  persona: string | null;
  onClose: () => void;
}

/** Takes a free seat, or one that another reviewer holds. */
export function SeatDialog({ how, persona: first, onClose }: SeatDialogProps) {
  const { id, review, me } = useReview();
  const seats = how === "claim" ? freeSeats(review, me) : takeOverSeats(review, me);
  const [chosen, setChosen] = useState(first);
  const seat = seats.find(({ persona }) => persona === chosen) ?? seats[0] ?? null;
  const { send, isSending, error, result } = useSend(
    (persona: string) => takeSeat(id, me.name, { how, persona, label: "" }),
    (answer) => !answer.auto_rejected && onClose(),
  );
  const isTakeOver = how === "take_over";
  const holder = seat?.claimed_by ?? seat?.reserved_for;
  return (
    <FormDialog
      title={isTakeOver ? `Take over a seat of ${review.number}` : `Take a seat of ${review.number}`}
      action={isTakeOver ? "Take it over" : "Take the seat"}
      onClose={onClose}
      onSend={() => seat !== null && send(seat.persona)}
      isSending={isSending}
      error={error}
      problem={seat === null ? "No seat can be taken now." : null}
    >
      {seats.length > 1 ? (
        <Choice
          label="Seat"
          value={seat?.persona ?? ""}
          options={seats.map(({ persona }) => ({ key: persona, label: persona }))}
          onChange={setChosen}
        />
      ) : (
        seat !== null && (
          <p>
            Seat <Name className="font-semibold">{seat.persona}</Name>
          </p>
        )
      )}
      <p className="text-dim">
        {isTakeOver && holder !== undefined ? (
          <>
            It ends the claim of <Name>{holder}</Name>; a vote of that seat no longer counts.
          </>
        ) : (
          "No other reviewer can take it meanwhile. Reading renews your claim; without any call it ends."
        )}
      </p>
      {result?.auto_rejected === true && (
        <p role="alert" className="rounded bg-bad-bg px-3 py-2 text-bad">
          The broker sent the review back instead, because its diff does not apply.
        </p>
      )}
    </FormDialog>
  );
}
