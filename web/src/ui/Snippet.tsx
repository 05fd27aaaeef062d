// biome-ignore-all lint/suspicious/noArrayIndexKey: the parts of a text have no other name
import type { SnippetPart } from "../api/generated";
import { inertLine } from "../text/inert";

/** A part of a text of others, with the words of a search marked. */
export function Snippet({ parts }: { parts: readonly SnippetPart[] }) {
  return (
    <bdi className="break-words">
      {parts.map((part, index) => {
        const text = spaced(part.text);
        return part.match === true ? (
          <mark key={index} className="rounded-sm bg-warn-bg text-text">
            {text}
          </mark>
        ) : (
          text
        );
      })}
    </bdi>
  );
}

/** Hidden characters written out, with the space at the ends that separates the parts. */
function spaced(text: string): string {
  const line = inertLine(text, 1_000);
  if (line === "") return text === "" ? "" : " ";
  return `${/^\s/.test(text) ? " " : ""}${line}${/\s$/.test(text) ? " " : ""}`;
}
