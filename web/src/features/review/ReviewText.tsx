import { Fragment } from "react";
import { inert } from "../../text/inert";
import { Markdown } from "../../text/Markdown";
import { FindingLink } from "./FindingLink";

const renderFinding = (id: string) => <FindingLink id={id} />;

/** Markdown of an agent or a person, in which the ids of findings are links. */
export function ReviewText({ text }: { text: string }) {
  return (
    <div className="[&>div>:first-child]:mt-0 [&>div>:last-child]:mb-0">
      <Markdown text={text} renderFinding={renderFinding} />
    </div>
  );
}

/** A sentence of the broker, in which the ids of findings are links. */
export function ReviewSentence({ text }: { text: string }) {
  return inert(text)
    .split(/\b(I-\d{1,9})\b/)
    .map((part, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts have no other identity
      <Fragment key={index}>{index % 2 === 1 ? <FindingLink id={part} /> : part}</Fragment>
    ));
}
