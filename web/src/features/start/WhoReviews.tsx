import { NameForm } from "../../NameForm";
import { isServing, type Pool, troubleWords } from "../../pool";
import { UserText } from "../../text/UserText";
import { Fold } from "../../ui/Fold";
import { LastWords, ReviewerHelp } from "../../ui/PoolHelp";

/** The person, or reviewers that the broker starts. */
export function WhoReviews({ pool }: { pool: Pool | null }) {
  return (
    <>
      <h3 className="font-medium">You</h3>
      <NameForm />
      <h3 className="font-medium">Reviewers of the broker</h3>
      <PoolState pool={pool} />
    </>
  );
}

function PoolState({ pool }: { pool: Pool | null }) {
  if (pool === null) return <p className="text-dim">Only an operator can see their state.</p>;
  const trouble = troubleWords(pool);
  if (trouble !== null) {
    return (
      <div className="w-full rounded bg-bad-bg px-3 py-2">
        <p className="font-medium text-bad">{trouble}.</p>
        {pool.message !== undefined && <UserText text={pool.message} />}
        <LastWords lines={pool.last_words ?? []} />
      </div>
    );
  }
  if (isServing(pool)) {
    const running = pool.reviewers.length;
    return (
      <p>
        On: <span className="font-medium">{pool.runtime}</span>, at most {pool.max_size} at a time,{" "}
        {running === 0 ? "none runs now. The first review starts one." : `${running} running.`}
      </p>
    );
  }
  return (
    <>
      <p>Off. The broker can start reviewers when reviews wait, and end them when none do.</p>
      <Fold title="How to start reviewers">
        <ReviewerHelp />
      </Fold>
    </>
  );
}
