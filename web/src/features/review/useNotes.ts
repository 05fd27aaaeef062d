import { useQuery } from "@tanstack/react-query";
import { createContext, useMemo, useRef } from "react";
import type { Issue, Message } from "../../api/generated";
import type { KeptDraft } from "./drafts";
import { type Note, placeOf, placeOfAnchor, rankOf } from "./findings";
import { discussion } from "./queries";
import { useReview } from "./ReviewContext";

export interface Notes {
  /** Those with a place in the diff, or without any place. */
  diff: readonly Note[];
  /** Those on lines of the description. */
  description: readonly Note[];
  findings: ReadonlyMap<string, Issue>;
  messages: ReadonlyMap<string, Message>;
  drafts: ReadonlyMap<string, KeptDraft>;
  /** Findings of later rounds, which the round on screen cannot show. */
  later: number;
}

/** Everything that stands at a line of the content on screen: findings, messages, comments that are being written. */
export function useNotes(): Notes {
  const { moment, issues, drafts, editing, shown } = useReview();
  const { data: messages } = useQuery(discussion(moment));
  const { round, isCurrent, since, hash } = shown;
  return useMemo(() => {
    const all: Note[] = [];
    const notes = {
      findings: new Map<string, Issue>(),
      messages: new Map<string, Message>(),
      drafts: new Map<string, KeptDraft>(),
      later: 0,
    };
    for (const issue of issues) {
      const place = placeOf(issue, { round, isCurrent, since });
      if (place === null) {
        notes.later += 1;
        continue;
      }
      const noteId = findingNote(issue.issue_id);
      notes.findings.set(noteId, issue);
      all.push({ ...place, id: noteId, rank: rankOf(issue) });
    }
    for (const message of messages ?? []) {
      const place =
        message.anchor === undefined || message.anchor.issue !== undefined ? null : placeOfAnchor(message.anchor);
      // A message keeps the lines of its own round, so it stands in that round only.
      if (place === null || message.round !== round) continue;
      const noteId = `message:${message.id}`;
      notes.messages.set(noteId, message);
      const isOtherText = since !== null && place.side === "old";
      all.push({ ...place, ...(isOtherText && { start: null, end: null }), id: noteId, rank: 0 });
    }
    const own = drafts.filter((draft) => draft.hash === hash && draft.id !== editing?.id);
    for (const draft of editing?.hash === hash ? [...own, editing] : own) {
      const noteId = draftNote(draft.id);
      notes.drafts.set(noteId, draft);
      all.push({ ...draft.place, id: noteId, rank: 0 });
    }
    return {
      ...notes,
      diff: all.filter((note) => note.in === "diff"),
      description: all.filter((note) => note.in === "description"),
    };
  }, [issues, messages, drafts, editing, round, isCurrent, since, hash]);
}

/** For the parts that draw notes inside a diff. */
export const NotesContext = createContext<Notes | null>(null);

/** The same list as long as no note comes, goes or moves: a word that is typed into one must not lay the diff out anew. */
export function useStableNotes(notes: readonly Note[]): readonly Note[] {
  const last = useRef({ text: "", notes });
  const text = JSON.stringify(notes);
  if (text !== last.current.text) last.current = { text, notes };
  return last.current.notes;
}

export const findingNote = (issueId: string) => `finding:${issueId}`;
export const draftNote = (draftId: string) => `draft:${draftId}`;
