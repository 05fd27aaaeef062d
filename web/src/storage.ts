/**
 * What this browser remembers: theme, name, layout, viewed marks, drafts. Every read and write may fail (private windows,
 * full storage, edited values); the page then works without memory.
 */
import { useCallback, useSyncExternalStore } from "react";

const PREFIX = "countersign.v1.";
const listeners = new Set<() => void>();
/** Holds what the browser does not keep, until the page is closed. */
const memory = new Map<string, string>();

function notify() {
  for (const listener of listeners) listener();
}

if (typeof window !== "undefined") window.addEventListener("storage", notify);

export function readText(key: string): string | null {
  const held = memory.get(key);
  if (held !== undefined) return held;
  try {
    return localStorage.getItem(PREFIX + key);
  } catch {
    return null;
  }
}

export function read<T>(key: string, isValid: (value: unknown) => value is T): T | null {
  const text = readText(key);
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isValid(value) ? value : null;
  } catch {
    return null;
  }
}

/** Whether the value will survive a reload. `null` removes it. */
export function write(key: string, value: unknown): boolean {
  memory.delete(key);
  try {
    if (value === null) localStorage.removeItem(PREFIX + key);
    else localStorage.setItem(PREFIX + key, JSON.stringify(value));
    return true;
  } catch {
    if (value !== null) memory.set(key, JSON.stringify(value));
    return false;
  } finally {
    notify();
  }
}

export function keysWithPrefix(prefix: string): string[] {
  const held = [...memory.keys()].filter((key) => key.startsWith(prefix));
  try {
    const stored = Object.keys(localStorage).map((key) => (key.startsWith(PREFIX) ? key.slice(PREFIX.length) : ""));
    return [...new Set([...held, ...stored.filter((key) => key !== "" && key.startsWith(prefix))])];
  } catch {
    return held;
  }
}

/** Calls `listener` after each change, also of another tab. */
export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** A stored value as React state, shared by all tabs. */
export function useStored<T>(
  key: string,
  isValid: (value: unknown) => value is T,
  fallback: T,
): [T, (value: T) => void] {
  const text = useSyncExternalStore(subscribe, () => readText(key));
  const parsed = text === null ? null : parse(text, isValid);
  const set = useCallback((value: T) => void write(key, value), [key]);
  return [parsed ?? fallback, set];
}

const parsedTexts = new Map<string, unknown>();

/** The same text gives the same object, so that it can stand in lists of dependencies. */
function parse<T>(text: string, isValid: (value: unknown) => value is T): T | null {
  let value = parsedTexts.get(text);
  if (value === undefined) {
    try {
      value = JSON.parse(text);
    } catch {
      value = null;
    }
    if (parsedTexts.size > 200) parsedTexts.clear();
    parsedTexts.set(text, value);
  }
  return isValid(value) ? value : null;
}

export const isString = (value: unknown): value is string => typeof value === "string";
export const isBoolean = (value: unknown): value is boolean => typeof value === "boolean";
export const isStrings = (value: unknown): value is string[] => Array.isArray(value) && value.every(isString);
export const isOneOf =
  <T extends string>(...allowed: readonly T[]) =>
  (value: unknown): value is T =>
    allowed.includes(value as T);
