/** Scripted agents: they do what Claude Code or Codex do, through REST. */
import type { RawFinding, Verdict } from "../src/api/generated";
import type { Answer, Args, RestClient } from "./restClient";

type Proposal = Partial<Args<"create_review">>;

export class Agent {
  /** The generation of the claim that this agent holds, by review. */
  private readonly generations = new Map<string, number>();

  constructor(
    private readonly broker: RestClient,
    readonly name: string,
  ) {}

  /** Proposes a change; returns the number of the review, such as `R-1`. */
  async propose(intent: string, proposal: Proposal = {}): Promise<string> {
    const kind = { agent_type: "script", agent_role: "proposer", phase: "1", category: "code_change" } as const;
    const request = { ...kind, intent, proposer_id: this.name, ...proposal };
    return (await this.broker.call("create_review", request)).number;
  }

  /** Submits the next round. */
  async revise(review: string, intent: string, proposal: Partial<Args<"resubmit_review">> = {}) {
    return this.broker.call("resubmit_review", { review_id: review, intent, proposer_id: this.name, ...proposal });
  }

  async claim(review: string, persona?: string): Promise<Answer<"claim_review">> {
    const claim = await this.broker.call("claim_review", { review_id: review, reviewer_id: this.name, persona });
    this.generations.set(review, claim.claim_generation);
    return claim;
  }

  async release(review: string) {
    const claim_generation = this.generations.get(review);
    return this.broker.call("release_claim", { review_id: review, reviewer_id: this.name, claim_generation });
  }

  /** Gives a verdict under the claim of this agent. */
  async vote(review: string, verdict: Verdict, more: Partial<Args<"submit_verdict">> = {}) {
    const claim_generation = this.generations.get(review);
    const vote = { review_id: review, reviewer_id: this.name, verdict, claim_generation, ...more };
    return this.broker.call("submit_verdict", vote);
  }

  async requestChanges(review: string, reason: string, issues: RawFinding[] = [], counter_patch?: string) {
    return this.vote(review, "changes_requested", { reason, issues, counter_patch });
  }

  async approve(review: string, reason = "Looks good.") {
    return this.vote(review, "approved", { reason });
  }

  /** Writes to the other party. */
  async say(
    review: string,
    body: string,
    sender_role: "proposer" | "reviewer",
    more: Partial<Args<"add_message">> = {},
  ) {
    return this.broker.call("add_message", { review_id: review, body, sender_role, caller_id: this.name, ...more });
  }

  async close(review: string) {
    return this.broker.call("close_review", { review_id: review, closer_role: "proposer" });
  }
}
