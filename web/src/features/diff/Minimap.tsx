import { useMemo } from "react";
import { Press } from "../../ui/Press";
import { minimapMarks } from "./minimap";
import { noteLook } from "./NoteCount";
import type { Row } from "./rows";

/** A strip beside the diff with a mark for each note. One press goes there. */
export function Minimap({ rows, onGo }: { rows: readonly Row[]; onGo: (note: string) => void }) {
  const marks = useMemo(() => minimapMarks(rows), [rows]);
  if (marks.length === 0) return null;
  return (
    <nav aria-label="Notes in the diff" className="diff-minimap" data-print="hide">
      {marks.map(({ id, count, worst, at }, index) => {
        const [glyph, word, colour] = noteLook(worst);
        const words = `${index + 1} of ${marks.length}: ${count} ${count === 1 ? "note" : "notes"}${word === "" ? "" : `, ${word}`}`;
        return (
          <Press
            key={id}
            aria-label={words}
            title={words}
            onPress={() => onGo(id)}
            className={`diff-minimap-mark ${colour}`}
            style={{ top: `${at * 100}%` }}
          >
            <span aria-hidden="true">{glyph}</span>
          </Press>
        );
      })}
    </nav>
  );
}
