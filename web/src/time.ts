/** Times in words, and the clock of the page, which follows the broker's. */
import { createContext, useContext, useSyncExternalStore } from "react";

let offsetMs = 0;

/** Corrects the clock by the `Date` header of a response. */
export function setServerDate(header: string | null): void {
  const server = header === null ? Number.NaN : Date.parse(header);
  // The header has whole seconds, and the answer took its time: smaller differences are noise.
  if (!Number.isNaN(server)) offsetMs = Math.abs(server - Date.now()) > 5_000 ? server - Date.now() : 0;
}

export function now(): number {
  return Date.now() + offsetMs;
}

const TICK_MS = 10_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MONTH = 30 * DAY;
const YEAR = 365 * DAY;

/** "14 s", "3 min", "2 h", "5 d", "7 mo", "3 y": how long, in the largest unit that fits. */
export function duration(ms: number): string {
  const positive = Math.max(0, ms);
  if (positive < MINUTE) return `${Math.floor(positive / 1000)} s`;
  if (positive < HOUR) return `${Math.floor(positive / MINUTE)} min`;
  if (positive < 2 * DAY) return `${Math.floor(positive / HOUR)} h`;
  if (positive < 60 * DAY) return `${Math.floor(positive / DAY)} d`;
  if (positive < 2 * YEAR) return `${Math.floor(positive / MONTH)} mo`;
  return `${Math.floor(positive / YEAR)} y`;
}

export function ago(at: string, nowMs: number): string {
  const ms = nowMs - Date.parse(at);
  if (Number.isNaN(ms)) return at;
  // The clock of the page is renewed every ten seconds, so a new time may be slightly ahead of it.
  if (ms < -TICK_MS - 5_000) return `in ${duration(-ms)}`;
  return ms < 10_000 ? "just now" : `${duration(ms)} ago`;
}

/** The date and the time of day, to the second. */
export function exactTime(at: string): string {
  return new Date(at).toLocaleString();
}

const listeners = new Set<() => void>();
let tick = now();
let timer: ReturnType<typeof setInterval> | null = null;

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) tick = now();
  listeners.add(listener);
  timer ??= setInterval(() => {
    tick = now();
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0 && timer !== null) {
      clearInterval(timer);
      timer = null;
    }
  };
}

/** The moment that a part of the page shows. `null`: the present. */
export const ShownMoment = createContext<number | null>(null);

/** The time now, renewed every ten seconds, or the moment on display. One clock serves the whole page. */
export function useNow(): number {
  const present = useSyncExternalStore(subscribe, () => tick);
  return useContext(ShownMoment) ?? present;
}
