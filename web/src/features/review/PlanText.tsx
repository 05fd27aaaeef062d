import { createContext, type ReactNode, type RefObject, useContext, useEffect, useRef } from "react";
import { Markdown, type SourceLines } from "../../text/Markdown";
import { Press } from "../../ui/Press";
import { FindingLink } from "./FindingLink";
import type { Place } from "./findings";
import { NoteView } from "./NoteView";
import { useReview } from "./ReviewContext";
import { type Notes, useNotes } from "./useNotes";

/** `null`: a text of another round, which takes no comments. */
const PlanNotes = createContext<Notes | null>(null);

const renderFinding = (id: string) => <FindingLink id={id} />;
const renderBlock = (lines: SourceLines, block: ReactNode) => <PlanBlock lines={lines}>{block}</PlanBlock>;

/** A description as markdown. Each block takes comments and shows those that it has. */
export function PlanText({ text, isQuiet = false }: { text: string; isQuiet?: boolean }) {
  const notes = useNotes();
  const box = useRef<HTMLDivElement>(null);
  usePlanTarget(box, isQuiet);
  return (
    <PlanNotes value={isQuiet ? null : notes}>
      <div ref={box} className="mx-auto w-full max-w-3xl text-base">
        <Markdown text={text} renderFinding={renderFinding} renderBlock={renderBlock} />
      </div>
    </PlanNotes>
  );
}

function PlanBlock({ lines, children }: { lines: SourceLines; children: ReactNode }) {
  const notes = useContext(PlanNotes);
  const { can, comment } = useReview();
  if (notes === null) return <div>{children}</div>;
  const own = notes.description.filter(({ start, end }) => {
    const line = end ?? start;
    return line !== null && line >= lines.first && line <= lines.last;
  });
  const place: Place = { in: "description", path: null, side: "new", start: lines.start, end: lines.end };
  const words = lines.start === lines.end ? `line ${lines.start}` : `lines ${lines.start} to ${lines.end}`;
  return (
    <>
      <div
        data-first={lines.first}
        data-last={lines.last}
        className={`group/block relative rounded pr-9 focus-within:bg-raised hover:bg-raised ${own.length > 0 ? "bg-raised" : ""}`}
      >
        {children}
        {can.comment === null && (
          <Press
            aria-label={`Comment on ${words}`}
            onPress={() => comment(place)}
            className="absolute top-0 right-1 flex size-6 items-center justify-center rounded border border-line bg-bg font-sans text-sm text-dim opacity-0 group-hover/block:opacity-100 hover:text-text focus-visible:opacity-100 pointer-coarse:opacity-100"
          >
            <span aria-hidden="true">+</span>
          </Press>
        )}
      </div>
      {own.length > 0 && (
        <div className="my-2 flex flex-col gap-2">
          {own.map((note) => (
            <div key={note.id} data-note={note.id}>
              <NoteView id={note.id} notes={notes} />
            </div>
          ))}
        </div>
      )}
    </>
  );
}

/** Goes to the place that was asked for, once it is on screen. */
function usePlanTarget(box: RefObject<HTMLDivElement | null>, isQuiet: boolean): void {
  const { target, goTo } = useReview();
  // After each render: the note may be drawn later than it was asked for.
  useEffect(() => {
    if (target === null || isQuiet || box.current === null) return;
    const found = [...box.current.querySelectorAll<HTMLElement>("[data-note], [data-first]")].find(({ dataset }) => {
      if (target.kind === "note") return dataset.note === target.id;
      const line = target.place.start;
      if (target.place.in !== "description" || line === null || dataset.first === undefined) return false;
      return line >= Number(dataset.first) && line <= Number(dataset.last);
    });
    if (found === undefined) return;
    found.scrollIntoView({ block: "center" });
    goTo(null);
  });
}
