import { useQuery } from "@tanstack/react-query";
import { useMe } from "../../me";
import { daySentence } from "./model";
import { dayStats } from "./queries";

/** What happened in the last 24 hours, in a sentence. Only operators may see the figures. */
export function DaySummary() {
  const { isOperator } = useMe();
  const { data, isPending } = useQuery({ ...dayStats(), enabled: isOperator });
  const sentence = data === undefined ? null : daySentence(data);
  // Its line is kept free, so that the lists below do not move when it arrives.
  return isOperator && (isPending || sentence !== null) ? <p className="-mt-2 min-h-5 text-dim">{sentence}</p> : null;
}
