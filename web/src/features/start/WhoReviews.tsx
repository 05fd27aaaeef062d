import { NameForm } from "../../NameForm";
import { isServing, type Pool, troubleWords } from "../../pool";
import { Fold } from "../../ui/Fold";
import { ReviewerHelp } from "../../ui/PoolHelp";

/** The person, or reviewers that the broker starts. */
export function WhoReviews({ pool }: { pool: Pool | null }) {
  const panel = "flex min-w-0 flex-col items-start gap-2 rounded border border-line bg-raised p-3";
  return (
    <div className="grid w-full gap-3 md:grid-cols-2">
      <section aria-label="You review" className={panel}>
        <h3 className="font-semibold">You review</h3>
        <p className="text-dim">Votes and messages that you write on this page carry your name.</p>
        <NameForm />
      </section>
      <section aria-label="The broker starts reviewers" className={panel}>
        <h3 className="font-semibold">The broker starts reviewers</h3>
        <PoolState pool={pool} />
      </section>
    </div>
  );
}

function PoolState({ pool }: { pool: Pool | null }) {
  if (pool === null) return <p className="text-dim">Only an operator can see their state.</p>;
  const trouble = troubleWords(pool);
  if (trouble !== null) {
    return (
      <p className="rounded bg-bad-bg px-3 py-2 text-bad">{trouble}. What happened stands at the top of the page.</p>
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
      <p className="text-dim">Off. When it is on, agents review what waits, and end when nothing does.</p>
      <Fold title="How to start reviewers">
        <ReviewerHelp />
      </Fold>
    </>
  );
}
