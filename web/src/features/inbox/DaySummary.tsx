import { useQuery } from "@tanstack/react-query";
import { daySentence } from "./model";
import { dayStats } from "./queries";

/** What happened in the last 24 hours, in a sentence. Nothing for those who may not see the figures. */
export function DaySummary() {
  const { data } = useQuery(dayStats());
  const sentence = data === undefined ? null : daySentence(data);
  return sentence === null ? null : <p className="-mt-2 text-dim">{sentence}</p>;
}
