import { Link } from "@tanstack/react-router";
import { cliLines } from "../../cliLines";
import { isBroken, type Pool } from "../../pool";
import { Button } from "../../ui/Button";
import { CliLine } from "../../ui/CliLine";
import { Fold } from "../../ui/Fold";
import { InboxLine } from "./InboxLine";
import { InboxSection, Lines } from "./InboxSection";
import type { Inbox } from "./model";
import { PoolTrouble } from "./PoolNotices";
import type { Done } from "./useDone";

interface NeedsYouProps {
  inbox: Inbox;
  pool: Pool | null;
  done: Done;
  /** The broker has more of them. */
  hasMore: boolean;
}

/** What waits for the person: reviewers that do not start, reviews, and those that it is done with. */
export function NeedsYou({ inbox, pool, done, hasMore }: NeedsYouProps) {
  const { needsMe } = inbox;
  return (
    <InboxSection title="Needs you" count={needsMe.length + (isBroken(pool) ? 1 : 0)} hasMore={hasMore}>
      <div className="mb-2 empty:hidden">
        <PoolTrouble pool={pool} />
      </div>
      {needsMe.length === 0 ? (
        !isBroken(pool) && <NothingNeedsYou inbox={inbox} />
      ) : (
        <Lines>
          {needsMe.map((item) => {
            const onPress = () => done.finish(item.row.review_id);
            return <InboxLine key={item.row.review_id} item={item} done={{ label: "Done", onPress }} />;
          })}
        </Lines>
      )}
      {hasMore && (
        <p className="pt-2">
          <Link to="/r" search={{ turn: "me" }}>
            Show all in which it is your turn
          </Link>
        </p>
      )}
      <LastDone done={done} />
      {inbox.done.length > 0 && (
        <Fold title={<span className="text-dim">{inbox.done.length} marked as done</span>}>
          <Lines>
            {inbox.done.map((item) => {
              const onPress = () => done.undo(item.row.review_id);
              return <InboxLine key={item.row.review_id} item={item} done={{ label: "Not done", onPress }} />;
            })}
          </Lines>
        </Fold>
      )}
    </InboxSection>
  );
}

function LastDone({ done: { last, undo } }: { done: Done }) {
  return (
    <div role="status">
      {last !== null && (
        <p className="flex items-center gap-2 pt-1 text-dim">
          {last.number} is done until something changes in it.
          <Button kind="quiet" onPress={() => undo(last.id)}>
            Undo
          </Button>
        </p>
      )}
    </div>
  );
}

function NothingNeedsYou({ inbox }: { inbox: Inbox }) {
  const isQuiet = inbox.running.length === 0 && inbox.done.length === 0;
  return (
    <div className="rounded border border-dashed border-line px-4 py-6 text-center">
      <p className="text-base">Nothing needs you.</p>
      <p className="mt-1 text-dim">
        {isQuiet
          ? "No review is open. An agent that is connected proposes its changes here."
          : "The reviews below wait for others. What needs you appears here by itself."}
      </p>
      {isQuiet && (
        <div className="mt-3 flex flex-wrap justify-center gap-2">
          <CliLine line={cliLines.init()} />
          <CliLine line={cliLines.demoServe()} />
        </div>
      )}
    </div>
  );
}
