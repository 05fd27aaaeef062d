import { useRef } from "react";
import { inert } from "../../text/inert";
import { type FileContext, type FileSections, NO_CONTEXT } from "./context";
import type { FileNotes } from "./notes";
import { type PaneAnnotation, type PaneDiff, paneAnnotations, paneDiff } from "./paneModel";
import type { PatchFile } from "./patch";
import type { ViewerProps } from "./viewer";

interface PaneItemBase {
  id: string;
  version: number;
  collapsed: boolean;
}

export type PaneItem =
  | (PaneItemBase & { type: "diff"; fileDiff: PaneDiff; annotations: PaneAnnotation[] })
  | (PaneItemBase & { type: "file"; file: { name: string; contents: string; lang: "text"; cacheKey: string } });

interface Known {
  sections: FileSections;
  context: FileContext;
  notes: FileNotes;
  isFolded: boolean;
  item: PaneItem;
}

export const itemId = (file: PatchFile): string => `${file.index} ${file.hash}`;
export const fileOfItem = (id: string): number => Number.parseInt(id, 10);

/** The files as the viewer takes them. A file that did not change stays the same object, so that it is not drawn again. */
export function usePaneItems({ files, sections, contexts, notes, folded }: ViewerProps): readonly PaneItem[] {
  const known = useRef<Known[]>([]);
  const list = useRef<readonly PaneItem[]>([]);
  const items = files.map((file, index): PaneItem => {
    const now = {
      sections: sections[index] ?? { sections: [], tail: null },
      context: contexts[index] ?? NO_CONTEXT,
      notes: notes.files[index] ?? { head: [], byLine: new Map(), count: 0, worst: 0 },
      isFolded: folded.has(index),
    };
    const last = known.current[index];
    const item = last === undefined ? makeItem(file, now, undefined) : nextItem(file, now, last);
    known.current[index] = { ...now, item };
    return item;
  });
  const isSame = items.length === list.current.length && items.every((item, index) => item === list.current[index]);
  if (!isSame) list.current = items;
  return list.current;
}

function nextItem(file: PatchFile, now: Omit<Known, "item">, last: Known): PaneItem {
  const isSame =
    now.sections === last.sections &&
    now.isFolded === last.isFolded &&
    (now.notes === last.notes || sameNotes(now.notes, last.notes));
  return isSame ? last.item : makeItem(file, now, last);
}

function makeItem(file: PatchFile, now: Omit<Known, "item">, last: Known | undefined): PaneItem {
  const version = (last?.item.version ?? 0) + 1;
  const base = { id: itemId(file), version, collapsed: now.isFolded };
  if (file.kind === "unreadable") {
    const contents = inert(file.text.replace(/\n$/, ""));
    return { ...base, type: "file", file: { name: "patch.txt", contents, lang: "text", cacheKey: base.id } };
  }
  const earlier = last?.item.type === "diff" ? last.item : undefined;
  const isSameDiff = earlier !== undefined && last?.sections === now.sections;
  const fileDiff = isSameDiff ? earlier.fileDiff : paneDiff(file, now.sections, now.context, `${base.id} ${version}`);
  const annotations = paneAnnotations(file, now.sections, now.notes, earlier?.annotations ?? []);
  return { ...base, type: "diff", fileDiff, annotations };
}

function sameNotes(a: FileNotes, b: FileNotes): boolean {
  const words = ({ head, byLine }: FileNotes) =>
    JSON.stringify([
      head.map(({ id }) => id),
      [...byLine].map(([key, notes]) => [key, notes.map(({ id, side }) => [id, side])]),
    ]);
  return a.count === b.count && words(a) === words(b);
}
