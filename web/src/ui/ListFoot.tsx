import { Button } from "./Button";
import { Refusal } from "./Failure";
import type { NextPage } from "./useVirtualRows";

interface ListFootProps {
  shown: number;
  /** How many there are in all. `null`: unknown. */
  total: number | null;
  words: { one: string; many: string };
  next: NextPage;
}

/** The end of a list that is loaded page by page: how much of it is shown, or why the next page did not load. */
export function ListFoot({ shown, total, words, next }: ListFootProps) {
  if (next.error !== null) {
    return (
      <div className="mt-3 flex flex-wrap items-center gap-3">
        <Refusal error={next.error} />
        <Button onPress={next.load}>Load more</Button>
      </div>
    );
  }
  const all = total === null ? "" : ` of ${total.toLocaleString("en")}`;
  const shownWords = shown.toLocaleString("en");
  return (
    <p className="px-3 pt-2 text-xs text-dim">
      {next.isLoading
        ? "Loading more…"
        : next.has
          ? `${shownWords}${all} shown`
          : `${shownWords} ${shown === 1 ? words.one : words.many}`}
    </p>
  );
}
