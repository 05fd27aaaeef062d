import { useMemo } from "react";
import { inert } from "../../text/inert";
import { diffTexts, type LineChange, type Piece } from "./textDiff";

const ROWS = {
  same: ["", " ", "unchanged"],
  added: ["bg-add", "+", "added"],
  removed: ["bg-del", "-", "removed"],
} as const;

/** Two descriptions as one text with the changed words marked. */
export function PlanChanges({ before, after }: { before: string; after: string }) {
  const changes = useMemo(() => diffTexts(before, after), [before, after]);
  return (
    <table className="mx-auto w-full max-w-3xl border-collapse font-mono text-sm">
      <caption className="sr-only">Changes of the description</caption>
      <tbody>
        {changes.map((change) => (
          <Row key={`${change.kind} ${change.old ?? ""} ${change.new ?? ""}`} change={change} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ change: { kind, old, new: fresh, pieces } }: { change: LineChange }) {
  const [colour, sign, word] = ROWS[kind];
  return (
    <tr className={colour}>
      <td className="w-8 pr-2 text-right align-top text-xs text-dim select-none">{old ?? fresh}</td>
      <td className="w-4 align-top select-none">
        <span aria-hidden="true">{sign}</span>
        <span className="sr-only">{word}</span>
      </td>
      <td className="whitespace-pre-wrap">
        {pieces.map((piece, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the pieces have no other identity
          <Words key={index} piece={piece} />
        ))}
      </td>
    </tr>
  );
}

function Words({ piece: { kind, text } }: { piece: Piece }) {
  if (kind === "added") return <ins className="bg-add-strong no-underline">{inert(text)}</ins>;
  if (kind === "removed") return <del className="bg-del-strong no-underline">{inert(text)}</del>;
  return inert(text);
}
