import { useQuery } from "@tanstack/react-query";
import { roundDiff } from "./queries";
import { useReview } from "./ReviewContext";

/** The diff on screen: of a round, or what changed since another round. */
export function useRoundDiff(isWanted = true) {
  const { moment, shown } = useReview();
  const since = shown.since === null || shown.sinceHash === null ? null : { round: shown.since, hash: shown.sinceHash };
  const isReady = shown.hash !== null && (shown.since === null || since !== null);
  const address = { ...moment, round: shown.round, hash: shown.hash ?? "", since };
  return { address, diff: useQuery({ ...roundDiff(address), enabled: isWanted && isReady }) };
}
