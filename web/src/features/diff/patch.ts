/**
 * Reads a git diff into files, hunks and lines. Never drops a byte: the texts of all files, joined, are the input. What
 * cannot be read, and what git ignores, is a file of the kind "unreadable" whose text is shown as it is.
 */
import { type PatchHeader, readGitHeader, readPlainHeader, stripLevel, Unreadable } from "./patchHeader";

export type LineKind = "context" | "added" | "removed";

export interface DiffLine {
  kind: LineKind;
  old: number | null;
  new: number | null;
  /** Without sign and line feed. It may end with a carriage return. */
  text: string;
  /** What stands behind `\\ ` under the line: it is the last one and has no line feed. Git takes any text there. */
  endMarker: string | null;
}

export interface Hunk {
  oldStart: number;
  oldCount: number;
  newStart: number;
  newCount: number;
  /** What git writes after the second `@@`: the function around the hunk. */
  section: string;
  lines: DiffLine[];
}

export type FileChange = "added" | "deleted" | "modified" | "renamed" | "copied";
export type FileKind = FileChange | "mode" | "binary" | "empty" | "submodule" | "unreadable";

export interface PatchFile {
  /** Place in the patch. Two files may have the same path, so this is the identity. */
  index: number;
  /** The new path, the old path of a deleted file, "" for text that belongs to no file. */
  path: string;
  oldPath: string | null;
  newPath: string | null;
  kind: FileKind;
  /** What happens to the file, whatever its kind: a binary file may be added. */
  change: FileChange;
  oldMode: string | null;
  newMode: string | null;
  /** In percent, of renames and copies. */
  similarity: number | null;
  hunks: Hunk[];
  additions: number;
  deletions: number;
  /** Of a binary file, if the patch carries them. */
  binarySizes: number[];
  /** All lines end with a carriage return, so that it need not be shown. */
  isCrlf: boolean;
  /** The part of the patch that is about this file. */
  text: string;
  /** The first line of `text` in the patch, counted from 1. */
  firstLine: number;
  /** Identity of what a reader sees of the file. Blob ids do not count. */
  hash: string;
  /** Why the text could not be read. "" for text that git ignores. `null` if all is well. */
  problem: string | null;
}

export interface ParsedPatch {
  files: PatchFile[];
  additions: number;
  deletions: number;
  /** Lines in all hunks and unreadable parts. */
  lineCount: number;
}

export function parsePatch(text: string): ParsedPatch {
  const files: PatchFile[] = [];
  let firstLine = 1;
  for (const mail of mails(text)) {
    for (const file of readMail(mail, firstLine)) files.push({ ...file, index: files.length });
    firstLine += countLines(mail);
  }
  return {
    files,
    additions: sum(files, (file) => file.additions),
    deletions: sum(files, (file) => file.deletions),
    lineCount: sum(files, (file) =>
      file.kind === "unreadable" ? countLines(file.text) : sum(file.hunks, (hunk) => hunk.lines.length),
    ),
  };
}

/** All paths by which a note may name the file. */
export function isNamed(file: PatchFile, path: string, side: "old" | "new"): boolean {
  return (
    file.kind !== "unreadable" &&
    (side === "new" ? (file.newPath ?? file.oldPath) : (file.oldPath ?? file.newPath)) === path
  );
}

/** The mails of `git format-patch`, or the whole text. A hunk cannot contain the first line of a mail. */
function* mails(text: string): Iterable<string> {
  const start = /^From [0-9a-f]{40,64} /gm;
  let from = 0;
  for (let match = start.exec(text); match !== null; match = start.exec(text)) {
    if (match.index > from) yield text.slice(from, match.index);
    from = match.index;
  }
  if (from < text.length) yield text.slice(from);
}

/** A position in a text, moved line by line. `line` is without its line feed, `null` at the end. */
class Cursor {
  line: string | null = null;
  start = 0;
  private next = 0;

  constructor(
    readonly text: string,
    public number: number,
  ) {
    this.moveTo(0, number);
  }

  advance(): void {
    this.moveTo(this.next, this.number + 1);
  }

  moveTo(start: number, number: number): void {
    this.start = start;
    this.number = number;
    if (start >= this.text.length) {
      this.line = null;
      this.next = start;
      return;
    }
    const end = this.text.indexOf("\n", start);
    this.line = this.text.slice(start, end === -1 ? this.text.length : end);
    this.next = end === -1 ? this.text.length : end + 1;
  }

  /** The lines after this one, without moving. */
  *following(): Iterable<string> {
    for (let start = this.next; start < this.text.length; ) {
      const end = this.text.indexOf("\n", start);
      yield this.text.slice(start, end === -1 ? this.text.length : end).replace(/\r$/, "");
      start = end === -1 ? this.text.length : end + 1;
    }
  }
}

function readMail(text: string, firstLine: number): PatchFile[] {
  const files: PatchFile[] = [];
  const strip = stripLevel(text);
  const cursor = new Cursor(text, firstLine);
  let outside = { start: 0, line: firstLine };
  // Text that no file has taken yet becomes an unreadable part, unless it is blank: then the file before it takes it.
  const closeOutside = (end: number) => {
    const skipped = text.slice(outside.start, end);
    if (skipped === "") return;
    const previous = files.at(-1);
    if (skipped.trim() === "" && previous !== undefined) previous.text += skipped;
    else files.push(unreadable(skipped, outside.line, previous?.problem ?? ""));
  };
  while (cursor.line !== null) {
    const [start, line] = [cursor.start, cursor.number];
    let file: PatchFile | null = null;
    try {
      file = readFile(cursor, strip);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      closeOutside(start);
      // Nothing of a file with a contradictory header is believed.
      cursor.moveTo(start, line);
      do cursor.advance();
      while (cursor.line !== null && !cursor.line.startsWith("diff --git "));
      files.push(unreadable(text.slice(start, cursor.start), line, error.message));
      outside = { start: cursor.start, line: cursor.number };
      continue;
    }
    if (file === null) {
      cursor.advance();
      continue;
    }
    const blank = text.slice(outside.start, start);
    const isBlankAtTop = files.length === 0 && blank.trim() === "";
    if (!isBlankAtTop) closeOutside(start);
    files.push({ ...file, text: text.slice(isBlankAtTop ? 0 : start, cursor.start) });
    outside = { start: cursor.start, line: cursor.number };
  }
  closeOutside(text.length);
  return files;
}

function unreadable(text: string, firstLine: number, problem: string): PatchFile {
  return {
    ...NOTHING,
    kind: "unreadable",
    hunks: [],
    binarySizes: [],
    text,
    firstLine,
    hash: hashOf(text),
    problem,
  };
}

const NOTHING = {
  index: 0,
  path: "",
  oldPath: null,
  newPath: null,
  change: "modified",
  oldMode: null,
  newMode: null,
  similarity: null,
  additions: 0,
  deletions: 0,
  isCrlf: false,
  problem: null,
} as const;

/** Reads the file that begins at the cursor and moves behind it. `null`, and no move, if none begins here. */
function readFile(cursor: Cursor, strip: 0 | 1): PatchFile | null {
  const line = cursor.line ?? "";
  const [start, firstLine] = [cursor.start, cursor.number];
  let header: PatchHeader;
  if (line.startsWith("diff --git ")) {
    const [read, count] = readGitHeader(line.slice("diff --git ".length).replace(/\r$/, ""), cursor.following(), strip);
    header = read;
    for (let taken = 0; taken <= count; taken += 1) cursor.advance();
  } else if (line.startsWith("--- ")) {
    const [fresh, hunk] = firstTwo(cursor.following());
    if (!fresh?.startsWith("+++ ") || !hunk?.startsWith("@@ -")) return null;
    header = readPlainHeader(line.slice(4), fresh.slice(4), /^@@ -0,0 /.test(hunk), strip);
    cursor.advance();
    cursor.advance();
  } else return null;

  const hunks: Hunk[] = [];
  let problem: string | null = null;
  while (problem === null && cursor.line?.startsWith("@@ -")) {
    problem = readHunk(cursor, hunks);
  }
  const binarySizes: number[] = [];
  const isBinary = hunks.length === 0 && problem === null && skipBinary(cursor, binarySizes);
  const additions = sum(hunks, (hunk) => count(hunk.lines, "added"));
  const deletions = sum(hunks, (hunk) => count(hunk.lines, "removed"));
  const change = changeOf(header);
  const { oldPath, newPath, oldMode, newMode, similarity } = header;
  const kind = kindOf(header, change, hunks.length, isBinary);
  if (kind === "empty" && change === "modified") problem ??= "its header names no change";
  return {
    index: 0,
    path: newPath ?? oldPath ?? "",
    oldPath,
    newPath,
    kind,
    change,
    oldMode,
    newMode,
    similarity,
    hunks,
    additions,
    deletions,
    binarySizes,
    isCrlf: hunks.length > 0 && hunks.every((hunk) => hunk.lines.every((one) => one.text.endsWith("\r"))),
    text: "",
    firstLine,
    hash: hashOf(cursor.text.slice(start, cursor.start).replace(/^index .*$/m, "")),
    problem,
  };
}

function changeOf(header: PatchHeader): FileChange {
  if (header.isAdded) return "added";
  if (header.isDeleted) return "deleted";
  if (header.isCopied) return "copied";
  return header.isRenamed || header.oldPath !== header.newPath ? "renamed" : "modified";
}

const SUBMODULE_MODE = "160000";

function kindOf(header: PatchHeader, change: FileChange, hunks: number, isBinary: boolean): FileKind {
  const { oldMode, newMode } = header;
  if (oldMode === SUBMODULE_MODE || newMode === SUBMODULE_MODE) return "submodule";
  if (isBinary) return "binary";
  if (hunks > 0 || change === "renamed" || change === "copied") return change;
  return change === "modified" && oldMode !== null && newMode !== null && oldMode !== newMode ? "mode" : "empty";
}

/** Reads one hunk into `hunks`. Returns why the rest cannot be read, or `null`. */
function readHunk(cursor: Cursor, hunks: Hunk[]): string | null {
  const head = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)$/s.exec(cursor.line ?? "");
  if (head === null) return "a hunk header cannot be read";
  const [oldStart, oldCount, newStart, newCount] = [head[1], head[2] ?? "1", head[3], head[4] ?? "1"].map(Number) as [
    number,
    number,
    number,
    number,
  ];
  const hunk: Hunk = { oldStart, oldCount, newStart, newCount, section: (head[5] ?? "").trimEnd(), lines: [] };
  hunks.push(hunk);
  cursor.advance();
  // A side without lines names the line before it.
  let old = oldCount === 0 ? oldStart + 1 : oldStart;
  let fresh = newCount === 0 ? newStart + 1 : newStart;
  const [oldEnd, newEnd] = [old + oldCount, fresh + newCount];
  const { lines } = hunk;
  for (;;) {
    const line = cursor.line;
    const last = lines.at(-1);
    if (line?.startsWith("\\ ") && last !== undefined) {
      last.endMarker = `${last.endMarker ?? ""}${line.slice(2).trimEnd()}`;
      cursor.advance();
      continue;
    }
    if (old >= oldEnd && fresh >= newEnd) return null;
    if (line === null) return "a hunk is shorter than its header says";
    const sign = line[0];
    const isBlank = line === "" || line === "\r";
    const kind = sign === "+" ? "added" : sign === "-" ? "removed" : sign === " " || isBlank ? "context" : null;
    if (kind === null) return "a hunk is shorter than its header says";
    if ((kind !== "added" && old >= oldEnd) || (kind !== "removed" && fresh >= newEnd))
      return "a hunk is longer than its header says";
    lines.push({
      kind,
      old: kind === "added" ? null : old,
      new: kind === "removed" ? null : fresh,
      text: isBlank ? line : line.slice(1),
      endMarker: null,
    });
    if (kind !== "added") old += 1;
    if (kind !== "removed") fresh += 1;
    cursor.advance();
  }
}

function skipBinary(cursor: Cursor, sizes: number[]): boolean {
  const line = cursor.line?.replace(/\r$/, "") ?? "";
  if (/^(?:Binary files|Files) .* differ$/s.test(line)) {
    cursor.advance();
    return true;
  }
  if (line !== "GIT binary patch") return false;
  cursor.advance();
  // The new content and, behind a blank line, the old one.
  for (let block = 0; block < 2; block += 1) {
    const size = /^(literal|delta) (\d+)\r?$/.exec(cursor.line ?? "");
    if (size === null) break;
    if (size[1] === "literal") sizes.push(Number(size[2]));
    do cursor.advance();
    while (cursor.line !== null && /^[A-Za-z][!-~]+\r?$/.test(cursor.line));
    if (cursor.line === "" || cursor.line === "\r") cursor.advance();
  }
  return true;
}

function firstTwo(lines: Iterable<string>): [string | undefined, string | undefined] {
  const taken: string[] = [];
  for (const line of lines) {
    taken.push(line);
    if (taken.length === 2) break;
  }
  return [taken[0], taken[1]];
}

/** Lines as a text editor counts them: a line feed at the end begins no further line. */
export function countLines(text: string): number {
  if (text === "") return 0;
  let lines = text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

/** 64 bits (cyrb64). Needs no secure context, unlike `crypto.subtle`, and must not change: viewed marks are stored. */
export function hashOf(text: string): string {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  const hex = (part: number) => (part >>> 0).toString(16).padStart(8, "0");
  return hex(b) + hex(a);
}

function count(lines: readonly DiffLine[], kind: LineKind): number {
  let found = 0;
  for (const line of lines) if (line.kind === kind) found += 1;
  return found;
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += of(item);
  return total;
}
