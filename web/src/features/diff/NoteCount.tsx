import type { DiffNote } from "./notes";

const RANKS: Record<DiffNote["rank"], readonly [glyph: string, word: string, colour: string]> = {
  4: ["■", "critical", "text-sev-critical"],
  3: ["▲", "high", "text-sev-high"],
  2: ["●", "medium", "text-sev-medium"],
  1: ["○", "low", "text-sev-low"],
  0: ["…", "", "text-dim"],
};

export const noteLook = (rank: DiffNote["rank"]) => RANKS[rank];

/** How many notes a file has, with the glyph of the worst. */
export function NoteCount({ count, worst }: { count: number; worst: DiffNote["rank"] }) {
  if (count === 0) return null;
  const [glyph, word, colour] = RANKS[worst];
  const words = `${count} ${count === 1 ? "note" : "notes"}${word === "" ? "" : `, ${count === 1 ? word : `worst is ${word}`}`}`;
  return (
    <span className={`diff-note-count ${colour}`} title={words}>
      <span aria-hidden="true">
        {glyph} {count}
      </span>
      <span className="sr-only">{words}</span>
    </span>
  );
}
