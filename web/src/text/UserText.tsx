import { inert, inertLine } from "./inert";

/** Text of an agent or a person, with its line breaks. */
export function UserText({ text, className = "" }: { text: string; className?: string }) {
  return <div className={`whitespace-pre-wrap break-words ${className}`}>{inert(text)}</div>;
}

/** A name or title within a sentence. `<bdi>` keeps its writing direction to itself. */
export function Name({ children, className }: { children: string; className?: string }) {
  return <bdi className={className}>{inertLine(children)}</bdi>;
}
