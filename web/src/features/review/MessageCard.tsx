import type { Message } from "../../api/generated";
import { inert, inertLine } from "../../text/inert";
import { Name } from "../../text/UserText";
import { Fold } from "../../ui/Fold";
import { Press } from "../../ui/Press";
import { Time } from "../../ui/Time";
import { FindingLink } from "./FindingLink";
import { placeOfAnchor, placeWords } from "./findings";
import { useReview } from "./ReviewContext";
import { ReviewText } from "./ReviewText";

/** A message in full. `isInDiff`: at its line, where its place need not be said. */
export function MessageCard({ message, isInDiff = false }: { message: Message; isInDiff?: boolean }) {
  const { caller_id, sender_role, persona, to, anchor, at, body, metadata } = message;
  const addressee = to ?? (sender_role === "reviewer" ? "proposer" : persona);
  const role = sender_role === "reviewer" ? persona : sender_role;
  return (
    <article
      aria-label={inertLine(`Message of ${caller_id ?? sender_role}`)}
      data-message={message.id}
      className={`min-w-0 rounded border bg-raised px-3 py-2 font-sans text-sm whitespace-normal ${sender_role === "operator" ? "border-accent" : "border-line"}`}
    >
      <header className="flex flex-wrap items-baseline gap-x-2">
        <Name className="font-semibold">{caller_id ?? sender_role}</Name>
        {role !== undefined && <Name className="text-xs text-dim">{role}</Name>}
        {addressee !== undefined && (
          <span className="text-xs text-dim">
            to <Name>{addressee}</Name>
          </span>
        )}
        <span className="grow" />
        <span className="text-xs text-dim">
          <Time at={at} />
        </span>
      </header>
      {anchor !== undefined && !isInDiff && <Anchor anchor={anchor} />}
      <ReviewText text={body} />
      {metadata !== undefined && Object.keys(metadata).length > 0 && (
        <Fold title={<span className="text-xs text-dim">Attached data</span>}>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
          <pre tabIndex={0} className="overflow-x-auto rounded border border-line bg-bg p-2 text-xs">
            {inert(JSON.stringify(metadata, null, 2))}
          </pre>
        </Fold>
      )}
    </article>
  );
}

function Anchor({ anchor }: { anchor: NonNullable<Message["anchor"]> }) {
  const { goToPlace } = useReview();
  const place = placeOfAnchor(anchor);
  return (
    <p className="my-1 flex flex-wrap gap-x-2 border-l-2 border-line pl-2 text-xs">
      {anchor.issue !== undefined && <FindingLink id={anchor.issue} />}
      {place !== null && (
        <Press className="text-left text-accent hover:underline" onPress={() => goToPlace(place)}>
          <Name className="font-mono">{placeWords(place)}</Name>
        </Press>
      )}
    </p>
  );
}
