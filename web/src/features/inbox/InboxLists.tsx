import { Link } from "@tanstack/react-router";
import { useRef } from "react";
import { useRowKeys } from "../../keys/useRowKeys";
import type { Pool } from "../../pool";
import { Fold } from "../../ui/Fold";
import { InboxLine } from "./InboxLine";
import { InboxSection, Lines } from "./InboxSection";
import { type Inbox, type InboxRow, outcomeWords } from "./model";
import { NeedsYou } from "./NeedsYou";
import { useDone } from "./useDone";

interface InboxListsProps {
  inbox: Inbox;
  pool: Pool | null;
  hasMoreMine: boolean;
  hasMoreOpen: boolean;
}

export function InboxLists({ inbox, pool, hasMoreMine, hasMoreOpen }: InboxListsProps) {
  const { running, decided } = inbox;
  const list = useRef<HTMLDivElement>(null);
  const done = useDone(inbox);
  useRowKeys(list, done.finish);
  return (
    <div ref={list} className="flex flex-col gap-6">
      <NeedsYou inbox={inbox} pool={pool} done={done} hasMore={hasMoreMine} />
      {running.length > 0 && (
        <InboxSection title="Running" count={running.length} hasMore={hasMoreOpen}>
          <Rows items={running} />
          {hasMoreOpen && (
            <p className="py-2">
              <Link to="/r">Show all reviews</Link>
            </p>
          )}
        </InboxSection>
      )}
      {decided.length > 0 && (
        <section aria-label="Decided today">
          <Fold level={2} title={<DecidedTitle decided={decided} />}>
            <Rows items={decided} />
          </Fold>
        </section>
      )}
    </div>
  );
}

function Rows({ items }: { items: readonly InboxRow[] }) {
  return (
    <Lines>
      {items.map((item) => (
        <InboxLine key={item.row.review_id} item={item} />
      ))}
    </Lines>
  );
}

function DecidedTitle({ decided }: { decided: readonly InboxRow[] }) {
  return (
    <>
      <span className="text-sm font-semibold">Decided today</span>{" "}
      <span className="text-dim">
        {decided.length} · {outcomeWords(decided)}
      </span>
    </>
  );
}
