/** The pool of a broker, with scripts as reviewers. */

import { fileURLToPath } from "node:url";
import { expect, type Page } from "@playwright/test";
import type { Broker } from "./broker";

/** Settings of a pool that runs this program. Without a sandbox: the scripts are where the tests are. */
export function poolOf(command: readonly string[], more = ""): string {
  const fixed = 'enabled = true\nruntime = "command"\nsandbox = "off"\ncooldown = "10ms"\nstop_grace = "5s"';
  return `[pool]\n${fixed}\ncommand = ${JSON.stringify(command)}\n${more}\n`;
}

export const shell = (script: string) => ["sh", "-c", script];

/** A reviewer that approves what it finds. */
export const APPROVES = [process.execPath, fileURLToPath(new URL("./poolReviewer.mjs", import.meta.url))];

/** Starts a reviewer; returns its id. */
export async function spawned(broker: Broker): Promise<string> {
  return (await broker.call("spawn_reviewer", {})).reviewer_id;
}

/** Waits until the pool fits. */
export async function untilPool(
  broker: Broker,
  fits: (pool: Awaited<ReturnType<typeof poolState>>) => boolean,
): Promise<void> {
  await expect.poll(async () => fits(await poolState(broker)), { timeout: 60_000 }).toBe(true);
}

const poolState = (broker: Broker) => broker.call("list_reviewers", {});

export const logOf = (page: Page) => page.getByRole("log");
