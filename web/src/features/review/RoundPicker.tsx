import { keyOf } from "../../keys/bindings";
import { Button } from "../../ui/Button";
import { Choice } from "./Choice";
import { useReview } from "./ReviewContext";

/** Which round is on screen, and what it is compared with. */
export function RoundPicker() {
  const { review, shown, seenRound, go, showLatest } = useReview();
  const rounds = Array.from({ length: review.current_round }, (_, index) => index + 1);
  if (rounds.length === 1) return null;
  const show = (round: number) => {
    if (round === review.current_round) showLatest("whole");
    else go({ round, since: undefined, patch: undefined }, true);
  };
  const earlier = rounds.filter((round) => round < shown.round);
  const sinceOptions = [
    { key: "base", label: "its base" },
    ...earlier.map((round) => ({ key: String(round), label: `round ${round}` })),
  ];
  return (
    <div className="flex flex-wrap items-center gap-2 whitespace-nowrap">
      <Choice
        label="Round"
        value={String(shown.round)}
        options={rounds.map((round) => ({ key: String(round), label: String(round) }))}
        onChange={(key) => show(Number(key))}
      />
      <Choice
        label="compared with"
        value={shown.since === null ? "base" : String(shown.since)}
        options={sinceOptions}
        onChange={(key) => go({ since: key === "base" ? undefined : Number(key), patch: undefined }, true)}
        isDisabled={earlier.length === 0}
      />
      {seenRound !== null && seenRound < shown.round && (
        <Button
          kind="quiet"
          shortcut={keyOf("compare")}
          onPress={() => go({ since: shown.since === seenRound ? undefined : seenRound, patch: undefined }, true)}
        >
          {shown.since === seenRound ? "Whole change" : "Since I looked"}
        </Button>
      )}
    </div>
  );
}
