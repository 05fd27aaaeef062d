import { useQuery } from "@tanstack/react-query";
import { Fragment, type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { Button } from "../../ui/Button";
import { Empty } from "../../ui/Empty";
import { Failure } from "../../ui/Failure";
import { SkeletonRows } from "../../ui/Skeleton";
import { Choice } from "./Choice";
import { MessageForm } from "./MessageForm";
import { discussion, timeline } from "./queries";
import { useReview } from "./ReviewContext";
import { StreamEntry } from "./StreamEntry";
import { type Entry, firstUnread, ofSeat, streamOf } from "./stream";
import { useEndInSight } from "./useEndInSight";

interface ConversationProps {
  /** The last version that the reader saw before this visit. */
  seenVersion: number | null;
  composer: RefObject<HTMLTextAreaElement | null>;
}

/** Verdicts, messages and what else happened, oldest first, and a form to write. */
export function Conversation({ seenVersion, composer }: ConversationProps) {
  const { id, moment, review, events, me, can } = useReview();
  const [seat, setSeat] = useState("all");
  const [sent, setSent] = useState(0);
  const messages = useQuery(discussion(moment));
  const history = useQuery(timeline(id));
  const all = useMemo(() => streamOf(events, messages.data ?? []), [events, messages.data]);
  const entries = ofSeat(all, seat === "all" ? null : seat);
  const seats = [
    { key: "all", label: "all seats" },
    ...review.seats.map(({ persona }) => ({ key: persona, label: persona })),
  ];
  const failed = [history, messages].find((query) => query.isError && query.data === undefined);
  if (failed !== undefined) {
    return <Failure error={failed.error} what="The conversation" retry={() => void failed.refetch()} />;
  }
  if (history.isPending || messages.isPending) return <SkeletonRows count={8} label="the conversation" />;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <h2 className="sr-only">Conversation</h2>
      {review.seats.length > 1 && (
        <div className="flex items-center justify-end border-b border-line px-3 py-1">
          <Choice label="Show" value={seat} options={seats} onChange={setSeat} />
        </div>
      )}
      <Stream entries={entries} unread={firstUnread(entries, seenVersion, me.name)} sent={sent} />
      <div className="border-t border-line p-3" data-print="hide">
        {can.message === null ? (
          <MessageForm
            name={`message.${id}`}
            label="Write a message"
            inputRef={composer}
            onSent={() => setSent((count) => count + 1)}
          />
        ) : (
          <p className="text-dim">{can.message}</p>
        )}
      </div>
    </div>
  );
}

interface StreamProps {
  entries: readonly Entry[];
  unread: number | null;
  /** How many messages the reader has sent from here. */
  sent: number;
}

function Stream({ entries, unread, sent }: StreamProps) {
  const box = useRef<HTMLElement>(null);
  const unreadLine = useRef<HTMLParagraphElement>(null);
  const { end, isEndInSight, unseen } = useEndInSight(box, entries.at(-1)?.version ?? 0, entries);
  // Only once: what arrives later moves nothing.
  useEffect(() => {
    const scroller = box.current;
    if (scroller === null) return;
    const top = unreadLine.current?.offsetTop ?? scroller.scrollHeight;
    scroller.scrollTop = top - 40;
  }, []);
  const last = entries.at(-1)?.version;
  const isOwnDue = useRef(false);
  useEffect(() => {
    isOwnDue.current = sent > 0;
  }, [sent]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what the reader sent is shown when it arrives
  useEffect(() => {
    if (!isOwnDue.current) return;
    isOwnDue.current = false;
    end.current?.scrollIntoView({ block: "end" });
  }, [last]);
  if (entries.length === 0) return <Empty title="Nothing has been said yet." />;
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <section
        ref={box}
        aria-label="Conversation"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        className="flex min-h-0 flex-1 flex-col gap-2 overflow-y-auto p-3"
      >
        {entries.map((entry) => (
          <Fragment key={`${entry.kind} ${entry.version}`}>
            {entry.version === unread && (
              <p ref={unreadLine} className="flex items-center gap-2 text-xs font-medium text-accent">
                <span className="h-px flex-1 bg-accent" aria-hidden="true" />
                new since your last visit
                <span className="h-px flex-1 bg-accent" aria-hidden="true" />
              </p>
            )}
            <StreamEntry entry={entry} />
          </Fragment>
        ))}
        <div ref={end} />
      </section>
      {!isEndInSight && unseen > 0 && (
        <Button
          kind="primary"
          className="absolute bottom-2 self-center rounded-full"
          onPress={() => end.current?.scrollIntoView({ block: "end" })}
        >
          {unseen} new below
        </Button>
      )}
    </div>
  );
}
