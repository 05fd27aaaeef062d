/** Which steps of the first run are done. */
import type { ReviewRow } from "../../api/generated";
import { isServing, type Pool } from "../../pool";

export interface Steps {
  /** An agent has proposed something. */
  isConnected: boolean;
  /** The newest review. `null` if the broker has no review. */
  first: ReviewRow | null;
  /** The person or the pool reviews. */
  hasReviewer: boolean;
}

/** The agent type that `countersign request` sends if the person does not name another. */
const COMMAND_LINE = "cli";

export function stepsOf(rows: readonly ReviewRow[], isNamed: boolean, pool: Pool | null): Steps {
  return {
    isConnected: rows.some((row) => row.agent_type !== COMMAND_LINE),
    first: rows[0] ?? null,
    hasReviewer: isNamed || isServing(pool),
  };
}

/** What to paste to an agent that is connected. */
export const SENTENCE =
  "When the change is ready, propose it for review with the countersign tool create_review, then wait with " +
  "get_review_status until it is your turn. Answer questions, revise until it is approved, and close the review.";
