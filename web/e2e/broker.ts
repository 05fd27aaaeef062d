/** The real binary with its own home, database, repository and port. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { Repository } from "./repository";
import { RestClient } from "./restClient";

export const binary = process.env.COUNTERSIGN_BINARY ?? "";
if (binary === "") throw new Error("COUNTERSIGN_BINARY is not set; run `cargo xtask test --browser`");

/** Time for the broker to start and to stop, on a busy machine. */
export const TIME_LIMIT_MS = 60_000;

export interface BrokerOptions {
  /** Settings over the defaults, as TOML. */
  settings?: string;
  /** The data folder of an earlier broker. Default: a new one. */
  data?: string;
}

export class Broker extends RestClient {
  readonly repository: Repository;
  private readonly home = mkdtempSync(join(tmpdir(), "countersign-e2e-"));
  private process: ChildProcess | null = null;
  private port = 0;

  private constructor(private readonly options: BrokerOptions) {
    super();
    this.repository = new Repository(join(this.home, "shop"));
  }

  static async start(options: BrokerOptions = {}): Promise<Broker> {
    const broker = new Broker(options);
    await broker.start();
    return broker;
  }

  get address(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Runs a command of the command line against this broker; returns its stdout. */
  async cli(...args: string[]): Promise<string> {
    const options = { cwd: this.repository.root, env: this.environment(), timeout: TIME_LIMIT_MS };
    const { stdout } = await promisify(execFile)(binary, [...args, "--data-dir", this.dataFolder()], options);
    return stdout;
  }

  /** Ends the broker with a signal and waits for its exit. */
  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    if (this.process !== null) await end(this.process, signal);
    this.process = null;
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
    if (started.stdout === null) throw new Error("the broker has no output");
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
    return this.options.data ?? join(this.home, "data");
  }

  /** Nothing of this machine's settings. */
  private environment(): NodeJS.ProcessEnv {
    return { PATH: process.env.PATH, HOME: this.home, USER: "ann" };
  }
}

/** Sends a signal to a process and waits for its exit. */
export async function end(running: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (running.exitCode !== null || running.signalCode !== null) return;
  const exited = once(running, "exit", { signal: AbortSignal.timeout(TIME_LIMIT_MS) });
  running.kill(signal);
  await exited;
}
