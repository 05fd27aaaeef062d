import { expect, test } from "vitest";
import type { ReviewRow } from "../../api/generated";
import type { Pool } from "../../pool";
import { stepsOf } from "./model";

const row = (agent_type: string) => ({ review_id: agent_type, agent_type }) as ReviewRow;
const pool = (state: string) => ({ state }) as Pool;

test("nothing is done in an empty database", () => {
  expect(stepsOf([], false, null)).toEqual({ isConnected: false, first: null, hasReviewer: false });
  expect(stepsOf([], false, pool("disabled")).hasReviewer).toBe(false);
});

test("a review from the command line does not mean that an agent is connected", () => {
  expect(stepsOf([row("cli")], true, null)).toMatchObject({ isConnected: false, hasReviewer: true });
  expect(stepsOf([row("cli"), row("claude-code")], false, pool("ready"))).toMatchObject({
    isConnected: true,
    hasReviewer: true,
    first: { review_id: "cli" },
  });
});
