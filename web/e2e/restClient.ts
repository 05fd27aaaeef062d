/** Calls of a broker by REST, as a script makes them. */
import { type Operations, operations, type Problem } from "../src/api/generated";
import { Agent } from "./agents";

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

export abstract class RestClient {
  /** The token of calls, where the broker needs one. */
  token: string | null = null;

  /** The address of the page, without a slash at the end. */
  abstract get address(): string;

  url(path: string): string {
    return `${this.address}${path}`;
  }

  /** Calls an operation. Arguments are flat, as those of a tool. */
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
}
