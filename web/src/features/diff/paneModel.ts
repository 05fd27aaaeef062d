/**
 * Our files as the highlighting view takes them. We parse the patch ourselves: both views then show the same lines, and
 * hidden characters are written out before the view sees them.
 */
import { inert } from "../../text/inert";
import { LONG_LINE } from "./CodeText";
import { type FileContext, type FileSections, hasOrderlyHunks, type PlacedLine } from "./context";
import type { FileNotes, Side } from "./notes";
import type { DiffLine, PatchFile } from "./patch";

type PaneContent =
  | { type: "context"; lines: number; additionLineIndex: number; deletionLineIndex: number }
  | { type: "change"; additions: number; deletions: number; additionLineIndex: number; deletionLineIndex: number };

interface PaneHunk {
  collapsedBefore: number;
  additionStart: number;
  additionCount: number;
  additionLines: number;
  additionLineIndex: number;
  deletionStart: number;
  deletionCount: number;
  deletionLines: number;
  deletionLineIndex: number;
  hunkContent: PaneContent[];
  splitLineStart: number;
  splitLineCount: number;
  unifiedLineStart: number;
  unifiedLineCount: number;
  noEOFCRDeletions: boolean;
  noEOFCRAdditions: boolean;
}

/** A file as `FileDiffMetadata` of the viewer. */
export interface PaneDiff {
  name: string;
  prevName?: string;
  type: "change" | "rename-pure" | "rename-changed" | "new" | "deleted";
  hunks: PaneHunk[];
  splitLineCount: number;
  unifiedLineCount: number;
  isPartial: boolean;
  deletionLines: string[];
  additionLines: string[];
  deletionCharacterCount: number;
  additionCharacterCount: number;
  cacheKey: string;
}

/** Files with higher line numbers are shown without gaps to expand. */
const MAX_LINES = 200_000;
const USUAL_MARKER = "No newline at end of file";

/** `cacheKey` must name the content: what was highlighted once is kept under it. */
export function paneDiff(file: PatchFile, sections: FileSections, context: FileContext, cacheKey: string): PaneDiff {
  const last = file.hunks.at(-1);
  const highest = last === undefined ? 0 : Math.max(last.oldStart + last.oldCount, last.newStart + last.newCount);
  // The viewer can expand only whole files. Lines of gaps that are not loaded are blank, and never shown.
  const isPartial = highest > MAX_LINES || file.problem !== null || !hasOrderlyHunks(file);
  const diff: PaneDiff = {
    name: inert(file.path),
    type: paneType(file),
    hunks: [],
    splitLineCount: 0,
    unifiedLineCount: 0,
    isPartial,
    deletionLines: [],
    additionLines: [],
    deletionCharacterCount: 0,
    additionCharacterCount: 0,
    cacheKey,
  };
  if (diff.type.startsWith("rename") && file.oldPath !== null) diff.prevName = inert(file.oldPath);
  for (const section of sections.sections) {
    if (!isPartial && section.gap !== null) fillGap(diff, section.lines, context);
    pushHunk(diff, section.lines, section.gap?.hidden ?? 0, file.isCrlf);
  }
  const tail = sections.tail?.hidden ?? 0;
  if (!isPartial && tail > 0) {
    const from = diff.additionLines.length;
    for (let at = 0; at < tail; at += 1) pushBoth(diff, inertLine(context.lines?.[from + at] ?? "", file.isCrlf));
    diff.splitLineCount += tail;
    diff.unifiedLineCount += tail;
  }
  diff.deletionCharacterCount = total(diff.deletionLines);
  diff.additionCharacterCount = total(diff.additionLines);
  return diff;
}

function paneType(file: PatchFile): PaneDiff["type"] {
  if (file.change === "added") return "new";
  if (file.change === "deleted") return "deleted";
  if (file.oldPath === file.newPath) return "change";
  return file.hunks.length === 0 ? "rename-pure" : "rename-changed";
}

/** Blank or loaded lines up to the first line of the section. */
function fillGap(diff: PaneDiff, lines: readonly PlacedLine[], context: FileContext): void {
  const start = (side: Side) => lines.find(({ line }) => line[side] !== null)?.line[side] ?? null;
  const [old, fresh] = [start("old"), start("new")];
  while (fresh !== null && diff.additionLines.length < fresh - 1)
    diff.additionLines.push(`${inert(context.lines?.[diff.additionLines.length] ?? "")}\n`);
  while (old !== null && diff.deletionLines.length < old - 1) diff.deletionLines.push("\n");
}

function pushBoth(diff: PaneDiff, line: string): void {
  diff.additionLines.push(line);
  diff.deletionLines.push(line);
}

function pushHunk(diff: PaneDiff, lines: readonly PlacedLine[], collapsedBefore: number, isCrlf: boolean): void {
  const additionLineIndex = diff.additionLines.length;
  const deletionLineIndex = diff.deletionLines.length;
  const content: PaneContent[] = [];
  const hunk: PaneHunk = {
    collapsedBefore,
    additionStart: 0,
    additionCount: 0,
    additionLines: 0,
    additionLineIndex,
    deletionStart: 0,
    deletionCount: 0,
    deletionLines: 0,
    deletionLineIndex,
    hunkContent: content,
    splitLineStart: diff.splitLineCount + collapsedBefore,
    splitLineCount: 0,
    unifiedLineStart: diff.unifiedLineCount + collapsedBefore,
    unifiedLineCount: 0,
    noEOFCRDeletions: false,
    noEOFCRAdditions: false,
  };
  for (const { line } of lines) {
    const place = { additionLineIndex: diff.additionLines.length, deletionLineIndex: diff.deletionLines.length };
    const text = paneLine(line, isCrlf);
    const open = content.at(-1);
    if (line.kind === "context") {
      if (open?.type === "context") open.lines += 1;
      else content.push({ type: "context", lines: 1, ...place });
    } else {
      const isNew = open?.type !== "change" || (line.kind === "removed" && open.additions > 0);
      const change = isNew ? { type: "change" as const, additions: 0, deletions: 0, ...place } : open;
      if (isNew) content.push(change);
      if (line.kind === "added") change.additions += 1;
      else change.deletions += 1;
    }
    if (line.kind !== "removed") {
      diff.additionLines.push(text);
      hunk.additionCount += 1;
      if (hunk.additionStart === 0) hunk.additionStart = line.new ?? 0;
      if (line.endMarker !== null) hunk.noEOFCRAdditions = true;
    }
    if (line.kind !== "added") {
      diff.deletionLines.push(text);
      hunk.deletionCount += 1;
      if (hunk.deletionStart === 0) hunk.deletionStart = line.old ?? 0;
      if (line.endMarker !== null) hunk.noEOFCRDeletions = true;
    }
  }
  for (const part of content) {
    if (part.type === "context") {
      hunk.splitLineCount += part.lines;
      hunk.unifiedLineCount += part.lines;
    } else {
      hunk.additionLines += part.additions;
      hunk.deletionLines += part.deletions;
      hunk.splitLineCount += Math.max(part.additions, part.deletions);
      hunk.unifiedLineCount += part.additions + part.deletions;
    }
  }
  // A side without lines names the line before it.
  if (hunk.additionCount === 0) hunk.additionStart = additionLineIndex;
  if (hunk.deletionCount === 0) hunk.deletionStart = deletionLineIndex;
  diff.hunks.push(hunk);
  diff.splitLineCount += collapsedBefore + hunk.splitLineCount;
  diff.unifiedLineCount += collapsedBefore + hunk.unifiedLineCount;
}

/** The text of a line as the viewer takes it: inert, with its line feed unless the file ends here. */
function paneLine(line: DiffLine, isCrlf: boolean): string {
  const marker = line.endMarker === null || line.endMarker === USUAL_MARKER ? "" : ` \\ ${inert(line.endMarker)}`;
  const text = inertLine(line.text, isCrlf);
  return line.endMarker === null ? text : `${text.slice(0, -1)}${marker}`;
}

function inertLine(text: string, isCrlf: boolean): string {
  const hasReturn = text.endsWith("\r");
  const line = hasReturn ? text.slice(0, -1) : text;
  const end = hasReturn && !isCrlf ? "␍\n" : "\n";
  if (line.length <= LONG_LINE) return inert(line) + end;
  const rest = (line.length - LONG_LINE).toLocaleString("en");
  return `${inert(line.slice(0, LONG_LINE))} … ${rest} more characters: see the table view${end}`;
}

function total(lines: readonly string[]): number {
  let characters = 0;
  for (const line of lines) characters += line.length;
  return characters;
}

/** Notes at one line of one side, as the viewer wants them: one annotation for all. */
export interface PaneAnnotation {
  side: "additions" | "deletions";
  /** 0 is the head of the file. */
  lineNumber: number;
  metadata: { ids: readonly string[] };
}

/** A line that no file has. An annotation there is never shown. */
const NOWHERE = 0x7fffffff;

/**
 * The annotations of a file. The viewer gives each one its React key by its place in the list, so an annotation keeps its
 * place as long as the file is shown: new ones go to the end, and those that are gone leave an empty one behind.
 * Otherwise a finding that arrives would take the focus away from a reply.
 */
export function paneAnnotations(
  file: PatchFile,
  sections: FileSections,
  notes: FileNotes,
  previous: readonly PaneAnnotation[],
): PaneAnnotation[] {
  const wanted = new Map<string, PaneAnnotation>();
  const add = (side: PaneAnnotation["side"], lineNumber: number, id: string) => {
    const key = `${side} ${lineNumber}`;
    const known = wanted.get(key);
    wanted.set(key, { side, lineNumber, metadata: { ids: [...(known?.metadata.ids ?? []), id] } });
  };
  for (const note of notes.head) add(file.change === "deleted" ? "deletions" : "additions", 0, note.id);
  if (notes.byLine.size > 0)
    for (const { lines } of sections.sections)
      for (const { key, line } of lines)
        for (const note of notes.byLine.get(key) ?? []) {
          const isOld = line.new === null || (note.side === "old" && line.old !== null);
          add(isOld ? "deletions" : "additions", (isOld ? line.old : line.new) ?? 0, note.id);
        }
  const kept = previous.map((annotation) => {
    const key = `${annotation.side} ${annotation.lineNumber}`;
    const next = wanted.get(key);
    wanted.delete(key);
    return next ?? { side: annotation.side, lineNumber: NOWHERE, metadata: { ids: [] } };
  });
  return [...kept, ...wanted.values()];
}
