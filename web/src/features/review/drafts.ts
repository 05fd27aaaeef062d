/**
 * What a person has written and not sent: comments on lines, the reason of a verdict, a message. Drafts lie in the
 * browser's storage, so a reload, a restart of the broker and a new round keep them. A comment belongs to the content
 * that it was written for.
 */
import { useMemo, useSyncExternalStore } from "react";
import type { RawFinding, Severity } from "../../api/generated";
import { isString, keysWithPrefix, read, readText, subscribe, useStored, write } from "../../storage";
import type { Place } from "./findings";

export interface Draft {
  id: string;
  /** A finding is sent with a verdict, a message by itself. */
  kind: "finding" | "message";
  place: Place;
  /** The round that was on screen. */
  round: number;
  severity: Severity | "suggestion";
  title: string;
  text: string;
  /** What to write instead. */
  suggestion: string;
}

/** A draft and the content it was written for. */
export interface KeptDraft extends Draft {
  hash: string;
}

const prefixOf = (reviewId: string) => `draft.${reviewId}.`;
const keyOf = (reviewId: string, hash: string) => prefixOf(reviewId) + hash;

const isText = (value: unknown): value is string => typeof value === "string";
const isLine = (value: unknown) =>
  value === null || (typeof value === "number" && Number.isInteger(value) && value >= 1);

function isPlace(value: unknown): value is Place {
  const place = value as Place | null;
  return (
    typeof place === "object" &&
    place !== null &&
    (place.in === "diff" || place.in === "description") &&
    (place.path === null || isText(place.path)) &&
    (place.side === "old" || place.side === "new") &&
    isLine(place.start) &&
    isLine(place.end)
  );
}

function isDraft(value: unknown): value is Draft {
  const draft = value as Draft | null;
  return (
    typeof draft === "object" &&
    draft !== null &&
    [draft.id, draft.severity, draft.title, draft.text, draft.suggestion].every(isText) &&
    (draft.kind === "finding" || draft.kind === "message") &&
    typeof draft.round === "number" &&
    isPlace(draft.place)
  );
}

const isDrafts = (value: unknown): value is Draft[] => Array.isArray(value) && value.every(isDraft);

export function readDrafts(reviewId: string): KeptDraft[] {
  return keysWithPrefix(prefixOf(reviewId))
    .sort()
    .flatMap((key) => {
      const hash = key.slice(prefixOf(reviewId).length);
      return (read(key, isDrafts) ?? []).map((draft) => ({ ...draft, hash }));
    });
}

/** Whether the draft will survive a reload. */
export function putDraft(reviewId: string, { hash, ...draft }: KeptDraft): boolean {
  const others = (read(keyOf(reviewId, hash), isDrafts) ?? []).filter(({ id }) => id !== draft.id);
  return write(keyOf(reviewId, hash), [...others, draft]);
}

export function removeDraft(reviewId: string, { hash, id }: Pick<KeptDraft, "hash" | "id">): void {
  const left = (read(keyOf(reviewId, hash), isDrafts) ?? []).filter((draft) => draft.id !== id);
  write(keyOf(reviewId, hash), left.length === 0 ? null : left);
}

/** Makes a draft of an earlier content one of this content. */
export function moveDraft(reviewId: string, draft: KeptDraft, to: { hash: string; round: number; place: Place }): void {
  putDraft(reviewId, { ...draft, ...to });
  if (draft.hash !== to.hash) removeDraft(reviewId, draft);
}

/** All drafts of a review, of every content, kept up to date across tabs. */
export function useDrafts(reviewId: string): KeptDraft[] {
  const text = useSyncExternalStore(subscribe, () =>
    keysWithPrefix(prefixOf(reviewId))
      .sort()
      .map((key) => `${key}=${readText(key)}`)
      .join("\n"),
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text stands for what storage holds
  return useMemo(() => readDrafts(reviewId), [reviewId, text]);
}

/** A text that survives a reload: the reason of a verdict, a message, a note. */
export function useDraftText(name: string): [string, (text: string) => void] {
  const [text, setText] = useStored(`text.${name}`, isString, "");
  return [text, (next) => (next === "" ? void write(`text.${name}`, null) : setText(next))];
}

export function clearDraftText(name: string): void {
  write(`text.${name}`, null);
}

export function isEmpty({ title, text, suggestion }: Draft): boolean {
  return [title, text, suggestion].every((part) => part.trim() === "");
}

const TITLE_CHARS = 120;

/** The title, or else the first line of the text. */
export function titleOf({ title, text }: Pick<Draft, "title" | "text">): string {
  const line = title.trim() === "" ? (text.trim().split("\n")[0] ?? "") : title.trim();
  return line.length > TITLE_CHARS ? `${line.slice(0, TITLE_CHARS - 1)}…` : line;
}

/** The findings as `submit_verdict` takes them. */
export function toFindings(drafts: readonly Draft[]): { issues: RawFinding[]; suggestions: RawFinding[] } {
  const issues: RawFinding[] = [];
  const suggestions: RawFinding[] = [];
  for (const draft of drafts) {
    if (draft.kind !== "finding" || isEmpty(draft)) continue;
    const finding = toFinding(draft);
    if (draft.severity === "suggestion") suggestions.push(finding);
    else issues.push({ ...finding, severity: draft.severity });
  }
  return { issues, suggestions };
}

function toFinding(draft: Draft): RawFinding {
  const { path, side, start, end } = draft.place;
  const isInDescription = draft.place.in === "description";
  const hasLines = start !== null && (isInDescription || path !== null);
  return {
    title: titleOf(draft),
    ...(draft.text.trim() !== "" && { description: draft.text.trim() }),
    ...(draft.suggestion.trim() !== "" && { suggestion: draft.suggestion }),
    ...(isInDescription ? { in: "description" as const } : path !== null && { file: path }),
    ...(!isInDescription && side === "old" && { side: "old" as const }),
    ...(hasLines && { line_start: start, line_end: end ?? start }),
  };
}

let lastId = 0;

/** Unique within this browser. */
export function newDraftId(): string {
  lastId += 1;
  return `${Date.now().toString(36)}-${lastId}-${Math.floor(Math.random() * 1e6).toString(36)}`;
}
