/** Carries out what `connection.ts` decides: dials, gathers events, and marks what they touch as old. */
import type { QueryClient } from "@tanstack/react-query";
import type { LiveFrame } from "../api/generated";
import { type Effect, type Heard, type Live, type LiveEvent, start, step } from "./connection";
import { touched } from "./touched";

const GATHER_MS = 100;
const GATHER_HIDDEN_MS = 2_000;
/** While events keep coming, what they touch is loaded this often. */
const REFETCH_EVERY_MS = 2_000;
/** After a calm time, so many loads may follow each other without that wait. */
const REFETCHES_AT_ONCE = 3;
/** On a busy machine the page rests this many times as long as the last load took. */
const REST = 2;
/** An answer that takes longer does not keep back later events. */
const REFETCH_TIMEOUT_MS = 5_000;
const REFUSAL_TIMEOUT_MS = 5_000;

export class LiveSocket {
  private live = start;
  private socket: WebSocket | null = null;
  private dialTimer: ReturnType<typeof setTimeout> | null = null;
  private nextDialAt: number | null = null;
  private gathered = new Map<string, readonly unknown[]>();
  private gatherTimer: ReturnType<typeof setTimeout> | null = null;
  private isRefetching = false;
  /** Each load moves it forward by `REFETCH_EVERY_MS`; a load waits until it is not too far ahead of the clock. */
  private refetchedUntil = 0;
  private restsUntil = 0;
  private attempt = 0;
  private pausedEvents = 0;
  private isPaused = false;
  private isAdmitted = false;
  private snapshot: LiveSnapshot;
  private readonly listeners = new Set<() => void>();
  private readonly eventListeners = new Set<(event: LiveEvent) => void>();

  constructor(private readonly queries: QueryClient) {
    this.snapshot = this.takeSnapshot();
  }

  /** Stays connected from the first `admitted` until the returned function is called. */
  start(): () => void {
    // The old connection may be dead without a sign of it after the network changed.
    const onOnline = () => {
      if (this.live.state === "offline" || this.live.state === "live") this.dialIn(0);
    };
    const onVisible = () => {
      if (document.visibilityState !== "visible") return;
      if (this.live.state === "offline") this.dialIn(0);
      if (!this.isPaused) void this.flush();
    };
    addEventListener("online", onOnline);
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      removeEventListener("online", onOnline);
      document.removeEventListener("visibilitychange", onVisible);
      this.attempt += 1;
      if (this.dialTimer !== null) clearTimeout(this.dialTimer);
      if (this.gatherTimer !== null) clearTimeout(this.gatherTimer);
      const socket = this.socket;
      this.socket = null;
      socket?.close();
    };
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  getSnapshot = (): LiveSnapshot => this.snapshot;

  /** Calls `listener` with each event, also while the page is paused. */
  onEvent(listener: (event: LiveEvent) => void): () => void {
    this.eventListeners.add(listener);
    return () => this.eventListeners.delete(listener);
  }

  /** While paused, events are counted and not applied. */
  setPaused(isPaused: boolean): void {
    this.isPaused = isPaused;
    if (!isPaused) {
      this.pausedEvents = 0;
      void this.flush();
    }
    this.publish();
  }

  /**
   * Connects: the broker has said who uses the page. What is loaded from now on is at least as new as `seq`, so that nothing
   * has to be loaded twice. After a time of being signed out everything may be old.
   */
  admitted(seq: number | null): void {
    const isFirst = !this.isAdmitted;
    if (!isFirst && this.live.state !== "signed_out") return;
    this.isAdmitted = true;
    this.hear({ kind: "admitted", seq: isFirst ? seq : null });
  }

  /** Ends the connection, until the page is admitted again. */
  signedOut(): void {
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    this.attempt += 1;
    this.hear({ kind: "unauthorized" });
  }

  private hear(heard: Heard): void {
    const [next, effects] = step(this.live, heard);
    this.live = next;
    for (const effect of effects) this.carryOut(effect);
    this.publish();
  }

  private carryOut(effect: Effect): void {
    switch (effect.do) {
      case "touch":
        if (this.isPaused) this.pausedEvents += 1;
        for (const key of touched(effect.event)) this.gathered.set(JSON.stringify(key), key);
        for (const listener of this.eventListeners) listener(effect.event);
        this.gather();
        break;
      case "refetch_all":
        void this.queries.invalidateQueries();
        break;
      case "clear_all":
        void this.queries.resetQueries();
        break;
      case "dial":
        // Many tabs must not dial in the same instant.
        this.dialIn(effect.afterMs * (0.5 + Math.random() / 2));
        break;
    }
  }

  private gather(): void {
    if (this.gatherTimer !== null || this.isRefetching || this.isPaused) return;
    const now = Date.now();
    const turn = this.refetchedUntil - REFETCH_EVERY_MS * (REFETCHES_AT_ONCE - 1);
    const shortest = document.visibilityState === "hidden" ? GATHER_HIDDEN_MS : GATHER_MS;
    const wait = Math.max(shortest, turn - now, this.restsUntil - now);
    this.gatherTimer = setTimeout(() => void this.flush(), wait);
  }

  /** Loads again what the gathered events touch. What they touch meanwhile is gathered for the next time. */
  private async flush(): Promise<void> {
    if (this.gatherTimer !== null) clearTimeout(this.gatherTimer);
    this.gatherTimer = null;
    if (this.gathered.size === 0 || this.isRefetching) return;
    const began = Date.now();
    const gathered = [...this.gathered.values()];
    this.gathered.clear();
    this.refetchedUntil = Math.max(this.refetchedUntil, began) + REFETCH_EVERY_MS;
    this.isRefetching = true;
    const loads = gathered.map((queryKey) => this.queries.invalidateQueries({ queryKey }));
    await Promise.race([Promise.allSettled(loads), new Promise((done) => setTimeout(done, REFETCH_TIMEOUT_MS))]);
    this.isRefetching = false;
    const ended = Date.now();
    this.restsUntil = ended + (ended - began) * REST;
    if (this.gathered.size > 0) this.gather();
  }

  private dialIn(delayMs: number): void {
    if (this.dialTimer !== null) clearTimeout(this.dialTimer);
    this.nextDialAt = Date.now() + delayMs;
    this.dialTimer = setTimeout(() => this.dial(), delayMs);
  }

  private dial(): void {
    this.dialTimer = null;
    this.nextDialAt = null;
    const old = this.socket;
    this.socket = null;
    old?.close();
    const since = this.live.seq === null ? "" : `?since=${this.live.seq}`;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/ws${since}`);
    this.socket = socket;
    this.attempt += 1;
    const attempt = this.attempt;
    let wasOpen = false;
    socket.onmessage = (message) => {
      wasOpen = true;
      const frame = parseFrame(message.data);
      if (frame !== null) this.hear({ kind: "frame", frame });
    };
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.socket = null;
      if (wasOpen) this.hear({ kind: "closed" });
      else
        void this.whyRefused().then((heard) => {
          // Another attempt may have begun meanwhile.
          if (this.attempt === attempt) this.hear(heard);
        });
    };
    this.publish();
  }

  /** A browser does not say why a WebSocket was refused. The event stream with the same query does. */
  private async whyRefused(): Promise<Heard> {
    const abort = new AbortController();
    const timeout = setTimeout(() => abort.abort(), REFUSAL_TIMEOUT_MS);
    try {
      const since = this.live.seq === null ? "" : `&since=${this.live.seq}`;
      const answer = await fetch(`/api/v1/events?follow=false${since}`, { signal: abort.signal });
      if (answer.status === 401 || answer.status === 403) return { kind: "unauthorized" };
      if (answer.status === 422 || answer.status === 400) return { kind: "unknown_since" };
      return { kind: "closed" };
    } catch {
      return { kind: "closed" };
    } finally {
      clearTimeout(timeout);
      abort.abort();
    }
  }

  private publish(): void {
    this.snapshot = this.takeSnapshot();
    for (const listener of this.listeners) listener();
  }

  private takeSnapshot(): LiveSnapshot {
    const { live, nextDialAt, isPaused, pausedEvents } = this;
    return { ...live, nextDialAt, isPaused, pausedEvents };
  }
}

export interface LiveSnapshot extends Live {
  nextDialAt: number | null;
  isPaused: boolean;
  pausedEvents: number;
}

function parseFrame(data: unknown): LiveFrame | null {
  try {
    const frame: unknown = JSON.parse(String(data));
    return typeof frame === "object" && frame !== null && "type" in frame && "seq" in frame
      ? (frame as LiveFrame)
      : null;
  } catch {
    return null;
  }
}
