import { keyOf } from "../../keys/bindings";
import { useKeys } from "../../keys/KeysContext";
import type { Pool } from "../../pool";
import { Name, UserText } from "../../text/UserText";
import { Button } from "../../ui/Button";
import { Fold } from "../../ui/Fold";
import { LastWords, ReviewerHelp } from "../../ui/PoolHelp";
import { Chip } from "../../ui/Status";
import { Time } from "../../ui/Time";
import { poolLook, whyWords } from "./model";
import type { OpenDialog } from "./PoolDialogs";

/** The state of the pool, why it does what it does, what waits, and what a person can change. */
export function PoolHead({ pool, onOpen }: { pool: Pool; onOpen: (dialog: OpenDialog) => void }) {
  const [glyph, word, colours] = poolLook(pool.state);
  const isOff = pool.state === "disabled";
  return (
    <section aria-label="Pool" className="flex flex-col gap-3 rounded border border-line p-4">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Chip glyph={glyph} word={word} colours={colours} />
        <span>
          {pool.reviewers.length} of {pool.max_size} reviewers · <Name>{pool.runtime}</Name>
        </span>
        {pool.configured_max_size !== undefined && (
          <span className="text-dim">limit changed for this run; pool.max_size is {pool.configured_max_size}</span>
        )}
        <span className="grow" />
        {!isOff && <PoolButtons pool={pool} onOpen={onOpen} />}
      </div>
      {pool.paused !== undefined && (
        <p>
          Paused <Time at={pool.paused.since} />
          {pool.paused.by !== undefined && (
            <>
              {" by "}
              <Name>{pool.paused.by}</Name>
            </>
          )}
          .
        </p>
      )}
      <p>{whyWords(pool).join(" ")}</p>
      {pool.message !== undefined && <UserText text={pool.message} className="text-dim" />}
      <LastWords lines={pool.last_words ?? []} isOpenFirst />
      <Waiting pool={pool} />
      {isOff && (
        <Fold title="How to start reviewers">
          <ReviewerHelp />
        </Fold>
      )}
    </section>
  );
}

function PoolButtons({ pool, onOpen }: { pool: Pool; onOpen: (dialog: OpenDialog) => void }) {
  const isPaused = pool.state === "paused";
  const spawn = () => onOpen({ kind: "spawn" });
  const pause = () => onOpen({ kind: "pause" });
  const limit = () => onOpen({ kind: "limit" });
  const stopAll = () => onOpen({ kind: "stop_all" });
  useKeys({ spawnReviewer: spawn, pausePool: pause, limitPool: limit, stopReviewers: stopAll });
  return (
    <div className="flex flex-wrap gap-2">
      <Button onPress={spawn} isDisabled={isPaused} shortcut={keyOf("spawnReviewer")}>
        Start one…
      </Button>
      <Button {...(isPaused && { kind: "primary" as const })} onPress={pause} shortcut={keyOf("pausePool")}>
        {isPaused ? "Resume…" : "Pause…"}
      </Button>
      <Button onPress={limit} shortcut={keyOf("limitPool")}>
        Limit…
      </Button>
      <Button onPress={stopAll} shortcut={keyOf("stopReviewers")}>
        Stop all…
      </Button>
    </div>
  );
}

/** The work that waits, by project. */
function Waiting({ pool }: { pool: Pool }) {
  const waiting = pool.waiting.filter(({ pending, free_seats }) => pending + free_seats > 0);
  if (waiting.length === 0) return null;
  return (
    <table className="w-max max-w-full text-left">
      <caption className="sr-only">Waiting work</caption>
      <thead className="text-xs text-dim">
        <tr>
          <th className="pr-6 font-normal">Project</th>
          <th className="pr-6 text-right font-normal">Reviews that wait</th>
          <th className="text-right font-normal">Free seats</th>
        </tr>
      </thead>
      <tbody>
        {waiting.map(({ project, pending, free_seats }) => (
          <tr key={project ?? ""}>
            <th className="pr-6 font-normal">{project === undefined ? "no project" : <Name>{project}</Name>}</th>
            <td className="pr-6 text-right">{pending}</td>
            <td className="text-right">{free_seats}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
