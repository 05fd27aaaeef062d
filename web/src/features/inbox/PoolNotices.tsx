import { Link } from "@tanstack/react-router";
import { isBroken, type Pool, troubleWords } from "../../pool";
import { UserText } from "../../text/UserText";
import { isOpenToAll } from "../../turns";
import { Banner } from "../../ui/Banner";
import { Fold } from "../../ui/Fold";
import { LastWords, ReviewerHelp } from "../../ui/PoolHelp";
import { counted, type InboxRow } from "./model";

/** What is wrong with the broker's reviewers. */
export function PoolTrouble({ pool }: { pool: Pool | null }) {
  const trouble = troubleWords(pool);
  if (pool === null || trouble === null) return null;
  return (
    <Banner tone={isBroken(pool) ? "bad" : "warn"} title={`${trouble}.`}>
      {pool.message !== undefined && <UserText text={pool.message} />}
      <LastWords lines={pool.last_words ?? []} />
    </Banner>
  );
}

/** That reviews wait because the broker starts no reviewers. */
export function NoReviewerRuns({ pool, needsMe }: { pool: Pool | null; needsMe: readonly InboxRow[] }) {
  const free = needsMe.filter(({ turns }) => turns.some(isOpenToAll));
  const first = free[0]?.row;
  if (pool?.state !== "disabled" || first === undefined) return null;
  const waits = free.length === 1 ? "1 review waits" : `${counted(free.length, "review")} wait`;
  return (
    <Banner tone="info" title={`${waits}, and no reviewer is running.`}>
      <p>
        Take one yourself:{" "}
        <Link to="/r/$review" params={{ review: first.number }}>
          open {first.number}
        </Link>
        . Or let the broker start reviewers.
      </p>
      <Fold title="How to start reviewers">
        <ReviewerHelp />
      </Fold>
    </Banner>
  );
}
