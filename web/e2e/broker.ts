/** The real binary with its own home, database, repository and port. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { type Operations, operations, type Problem } from "../src/api/generated";
import { Agent } from "./agents";
import { Repository } from "./repository";

const binary = process.env.COUNTERSIGN_BINARY ?? "";
if (binary === "") throw new Error("COUNTERSIGN_BINARY is not set; run `cargo xtask test --browser`");

/** Time for the broker to start and to stop, on a busy machine. */
const TIME_LIMIT_MS = 60_000;

export type Args<Id extends keyof Operations> = Operations[Id]["args"];
export type Answer<Id extends keyof Operations> = Operations[Id]["answer"];

/** The broker refused a call of a test. */
export class Refused extends Error {
  constructor(
    readonly problem: Problem,
    readonly status: number,
  ) {
    super(`${status} ${problem.code}: ${problem.detail}`);
  }
}

export interface BrokerOptions {
  /** Settings over the defaults, as TOML. */
  settings?: string;
}

export class Broker {
  readonly repository: Repository;
  /** The token of calls, where the broker needs one. */
  token: string | null = null;
  private readonly home = mkdtempSync(join(tmpdir(), "countersign-e2e-"));
  private process: ChildProcess | null = null;
  private port = 0;

  private constructor(private readonly options: BrokerOptions) {
    this.repository = new Repository(join(this.home, "shop"));
  }

  static async start(options: BrokerOptions = {}): Promise<Broker> {
    const broker = new Broker(options);
    await broker.start();
    return broker;
  }

  /** The address of the page, without a slash at the end. */
  get address(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  url(path: string): string {
    return `${this.address}${path}`;
  }

  /** Calls an operation by REST, as a script would. Arguments are flat, as those of a tool. */
  async call<Id extends keyof Operations>(id: Id, args: Args<Id>): Promise<Answer<Id>> {
    const [method, template] = operations[id] as readonly [string, string];
    const rest = new Map(Object.entries(args).filter(([, value]) => value !== undefined));
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = rest.get(name);
      rest.delete(name);
      return encodeURIComponent(String(value));
    });
    const isSent = method === "POST" || method === "PATCH";
    const pairs = isSent ? [] : [...rest].flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)]));
    const answer = await fetch(`${this.url(path)}?${new URLSearchParams(pairs)}`, {
      method,
      headers: {
        ...(isSent && { "content-type": "application/json" }),
        ...(this.token !== null && { authorization: `Bearer ${this.token}` }),
      },
      ...(isSent && { body: JSON.stringify(Object.fromEntries(rest)) }),
    });
    if (!answer.ok) throw new Refused((await answer.json()) as Problem, answer.status);
    return (answer.status === 204 ? null : await answer.json()) as Answer<Id>;
  }

  /** A scripted agent of this name. */
  agent(name: string): Agent {
    return new Agent(this, name);
  }

  /** Runs a command of the command line against this broker; returns its stdout. */
  async cli(...args: string[]): Promise<string> {
    const options = { cwd: this.repository.root, env: this.environment(), timeout: TIME_LIMIT_MS };
    const { stdout } = await promisify(execFile)(binary, [...args, "--data-dir", this.dataFolder()], options);
    return stdout;
  }

  /** Ends the broker with a signal and waits for its exit. */
  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    const running = this.process;
    if (running === null) return;
    this.process = null;
    if (running.exitCode === null && running.signalCode === null) {
      const exited = once(running, "exit", { signal: AbortSignal.timeout(TIME_LIMIT_MS) });
      running.kill(signal);
      await exited;
    }
  }

  /** Starts the broker: on a free port for the first time, then on the same port again. */
  async start(): Promise<void> {
    writeFileSync(join(this.home, "config.toml"), this.options.settings ?? "");
    const log = openSync(this.logFile(), "a");
    const serve = ["serve", "--listen", `127.0.0.1:${this.port}`, "--repo", this.repository.root];
    const config = ["--data-dir", this.dataFolder(), "--config", join(this.home, "config.toml")];
    const started = spawn(binary, [...serve, ...config], {
      cwd: this.home,
      env: this.environment(),
      stdio: ["ignore", "pipe", log],
    });
    this.process = started;
    for await (const line of createInterface({ input: started.stdout })) {
      const port = /^listening http:\/\/127\.0\.0\.1:(\d+)$/.exec(line)?.[1];
      if (port !== undefined) {
        this.port = Number(port);
        return;
      }
    }
    throw new Error(`the broker did not start: ${this.log()}`);
  }

  /** Another process on the same data and port. */
  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Another process on the same port, with an empty database. */
  async restartWithOtherDatabase(): Promise<void> {
    await this.stop();
    rmSync(this.dataFolder(), { recursive: true });
    await this.start();
  }

  /** Stops the broker and removes its files. */
  async remove(): Promise<void> {
    await this.stop("SIGKILL");
    rmSync(this.home, { recursive: true, force: true });
  }

  log(): string {
    return readFileSync(this.logFile(), "utf8");
  }

  private logFile(): string {
    return join(this.home, "broker.log");
  }

  private dataFolder(): string {
    return join(this.home, "data");
  }

  /** Nothing of this machine's settings. */
  private environment(): NodeJS.ProcessEnv {
    return { PATH: process.env.PATH, HOME: this.home, USER: "ann" };
  }
}
