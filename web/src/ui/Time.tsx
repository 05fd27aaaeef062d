import { ago, duration, exactTime, useNow } from "../time";

/** A relative time; the exact one is its title. */
export function Time({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={exactTime(at)} className="whitespace-nowrap">
      {ago(at, now)}
    </time>
  );
}

/** How long ago, without the word: for narrow columns under the heading "age". */
export function Age({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={exactTime(at)} className="whitespace-nowrap">
      {duration(now - Date.parse(at))}
    </time>
  );
}
