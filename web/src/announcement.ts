/** What a screen reader says when it becomes the person's turn. */
import { inertLine } from "./text/inert";

/** A review in which it is the person's turn. */
export interface NeedsMe {
  /** The same as long as the turn lasts. */
  key: string;
  number: string;
  title: string;
  why: string;
}

/** The turns that were not there before. `null`: the page has just been opened, so nothing is news. */
export function newTurns(known: ReadonlySet<string> | null, now: readonly NeedsMe[]): NeedsMe[] {
  return known === null ? [] : now.filter(({ key }) => !known.has(key));
}

/** One sentence for all that is new, or `null`. */
export function announcement(fresh: readonly NeedsMe[]): string | null {
  const [first, second] = fresh;
  if (first === undefined) return null;
  if (second === undefined) return inertLine(`${first.number} needs you: ${first.why}.`);
  const numbers = fresh.map(({ number }) => number);
  const shown = numbers.length > 3 ? `${numbers.slice(0, 3).join(", ")} and others` : numbers.join(", ");
  return inertLine(`${fresh.length} reviews need you: ${shown}.`);
}
