/** `countersign demo --serve`: a broker with a review in each state. The one home of scenes for pictures and axe. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { binary, end } from "./broker";
import { RestClient } from "./restClient";

/** The reviews of the demo. */
export const SCENES = {
  closed: "R-1",
  approved: "R-2",
  plan: "R-3",
  doesNotApply: "R-4",
  escalated: "R-5",
  inDiscussion: "R-6",
  panel: "R-7",
  waiting: "R-8",
} as const;

export class Demo extends RestClient {
  private readonly home = mkdtempSync(join(tmpdir(), "countersign-e2e-demo-"));
  private running: ChildProcess | null = null;
  private served = "";

  static async start(): Promise<Demo> {
    const demo = new Demo();
    await demo.play();
    return demo;
  }

  get address(): string {
    return this.served;
  }

  /** Stops the demo, which removes its own files. */
  async remove(): Promise<void> {
    if (this.running !== null) await end(this.running, "SIGINT");
    rmSync(this.home, { recursive: true, force: true });
  }

  private async play(): Promise<void> {
    const running = spawn(binary, ["demo", "--serve", "--print", "--fast", "--json"], {
      cwd: this.home,
      env: { PATH: process.env.PATH, HOME: this.home, TMPDIR: this.home, USER: "ann" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.running = running;
    for await (const line of createInterface({ input: running.stdout })) {
      const step = JSON.parse(line) as { url?: string; waits_for?: string };
      if (step.url !== undefined) this.served = step.url;
      if (step.waits_for !== undefined) return;
    }
    throw new Error("the demo ended before it served its page");
  }
}
