/** What the page says about a persona. */
import type { Persona } from "../../api/generated";

/** Whether agents are started for its seats alone. The broker decides; this only leaves out what it would refuse. */
export const hasOwnAgents = ({ mode, runtime, model, effort }: Persona) =>
  mode === "agent" && (runtime !== undefined || model !== undefined || effort !== undefined);

const MODES: Record<string, string> = {
  agent: "an agent of the pool takes its seats",
  one_shot: "one run of a client for each seat and round",
  dedicated: "one reviewer for each seat, until the review ends",
};

/** How its seats are reviewed, in words. */
export function modeWords(persona: Persona): string {
  if (hasOwnAgents(persona)) return "agents of its own take its seats";
  return MODES[persona.mode] ?? persona.mode;
}

/** Client, model and limits, as far as they differ from those of the pool. */
export function limitsOf({ runtime, model, effort, budget_usd, max_turns, mode, time_limit_seconds }: Persona): string {
  const limits = [
    runtime,
    model,
    effort === undefined ? undefined : `effort ${effort}`,
    budget_usd === undefined ? undefined : `$${budget_usd} for a seat`,
    max_turns === undefined ? undefined : `${max_turns} turns`,
    mode === "agent" ? undefined : `${Math.round(time_limit_seconds / 60)} min for a run`,
  ];
  return limits.filter((each) => each !== undefined).join(" · ");
}
