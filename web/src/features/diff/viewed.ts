/** Which files of a review a reader has seen. A mark is bound to the file's patch: another patch takes it away. */
import { useCallback, useSyncExternalStore } from "react";
import { keysWithPrefix, read, readText, subscribe, write } from "../../storage";
import type { PatchFile } from "./patch";

export type Viewed = "no" | "viewed" | "changed";

/** By path: the hash of the patch that was seen. */
interface Marks {
  at: number;
  hashes: Record<string, string>;
}

const PREFIX = "viewed.";
/** Marks of older reviews are forgotten, so that the storage does not fill. */
const MAX_REVIEWS = 100;

function isMarks(value: unknown): value is Marks {
  if (typeof value !== "object" || value === null) return false;
  const { at, hashes } = value as Partial<Marks>;
  return (
    typeof at === "number" &&
    typeof hashes === "object" &&
    hashes !== null &&
    Object.values(hashes).every((hash) => typeof hash === "string")
  );
}

export function readMarks(reviewKey: string): Readonly<Record<string, string>> {
  return read(PREFIX + reviewKey, isMarks)?.hashes ?? {};
}

export function viewedState(file: PatchFile, marks: Readonly<Record<string, string>>): Viewed {
  const hash = Object.hasOwn(marks, file.path) ? marks[file.path] : undefined;
  if (hash === undefined) return "no";
  return hash === file.hash ? "viewed" : "changed";
}

/** Whether the mark was stored. */
export function setViewed(reviewKey: string, file: PatchFile, isViewed: boolean, now: number): boolean {
  const hashes = withMark(readMarks(reviewKey), file, isViewed);
  const value: Marks | null = Object.keys(hashes).length === 0 ? null : { at: now, hashes };
  forgetOld(reviewKey);
  return write(PREFIX + reviewKey, value);
}

function withMark(marks: Readonly<Record<string, string>>, file: PatchFile, isViewed: boolean): Record<string, string> {
  const others = Object.entries(marks).filter(([path]) => path !== file.path);
  return Object.fromEntries(isViewed ? [...others, [file.path, file.hash]] : others);
}

function forgetOld(reviewKey: string): void {
  const others = keysWithPrefix(PREFIX).filter((key) => key !== PREFIX + reviewKey);
  if (others.length < MAX_REVIEWS) return;
  const byAge = others.map((key) => ({ key, at: read(key, isMarks)?.at ?? 0 })).sort((a, b) => a.at - b.at);
  for (const { key } of byAge.slice(0, others.length - MAX_REVIEWS + 1)) write(key, null);
}

/** The marks of a review as state. All tabs share them; without storage they last as long as the page. */
export function useViewed(reviewKey: string): {
  marks: Readonly<Record<string, string>>;
  set: (file: PatchFile, isViewed: boolean) => void;
} {
  const text = useSyncExternalStore(subscribe, () => snapshot(reviewKey));
  const set = useCallback(
    (file: PatchFile, isViewed: boolean) => {
      const isStored = setViewed(reviewKey, file, isViewed, Date.now());
      if (!isStored) remember(reviewKey, file, isViewed);
    },
    [reviewKey],
  );
  return { marks: parsed(text), set };
}

/** Used where the storage refuses to write. */
const unsaved = new Map<string, Record<string, string>>();

function remember(reviewKey: string, file: PatchFile, isViewed: boolean): void {
  unsaved.set(reviewKey, withMark(unsaved.get(reviewKey) ?? readMarks(reviewKey), file, isViewed));
  // Tells the subscribers of the storage.
  write(`${PREFIX}none`, null);
}

function snapshot(reviewKey: string): string {
  const own = unsaved.get(reviewKey);
  return own === undefined ? (readText(PREFIX + reviewKey) ?? "") : JSON.stringify({ at: 0, hashes: own });
}

let lastParsed: { text: string; marks: Readonly<Record<string, string>> } = { text: "", marks: {} };

/** The same text gives the same object. */
function parsed(text: string): Readonly<Record<string, string>> {
  if (lastParsed.text === text) return lastParsed.marks;
  let marks: Readonly<Record<string, string>> = {};
  try {
    const value: unknown = JSON.parse(text);
    if (isMarks(value)) marks = value.hashes;
  } catch {
    // Not ours, or nothing stored.
  }
  lastParsed = { text, marks };
  return marks;
}
