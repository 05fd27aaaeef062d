import { Link } from "@tanstack/react-router";
import type { Pool } from "../../pool";
import { Name } from "../../text/UserText";

/** Seats whose own reviewer waits for a free place. */
export function QueuedSeats({ pool }: { pool: Pool }) {
  const queued = pool.queued ?? [];
  if (queued.length === 0) return null;
  const total = pool.queued_total ?? queued.length;
  return (
    <section className="flex flex-col gap-2">
      <h2 className="font-semibold">Waiting for a place ({total})</h2>
      <p className="text-dim">One-shot and dedicated reviewers of these seats start when the pool has room.</p>
      <ul className="flex flex-wrap gap-x-4 gap-y-1">
        {queued.map(({ review, persona }) => (
          <li key={`${review} ${persona}`}>
            <Link to="/r/$review" params={{ review }}>
              {review}
            </Link>{" "}
            <Name className="text-dim">{persona}</Name>
          </li>
        ))}
      </ul>
    </section>
  );
}
