/**
 * Reads the header of one file's patch with the rules of `git apply`, as the broker does: which file, and what happens to
 * it. Page and broker must name the same file, or a finding would stand at the wrong place.
 */

export interface PatchHeader {
  oldPath: string | null;
  newPath: string | null;
  isAdded: boolean;
  isDeleted: boolean;
  isRenamed: boolean;
  isCopied: boolean;
  oldMode: string | null;
  newMode: string | null;
  similarity: number | null;
}

/** Why a part of the patch cannot be read. */
export class Unreadable extends Error {}

/** `lines` are the lines after `diff --git `. Returns the header and how many of `lines` belong to it. */
export function readGitHeader(names: string, lines: Iterable<string>, strip: 0 | 1): [PatchHeader, number] {
  let header: PatchHeader = {
    oldPath: null,
    newPath: null,
    isAdded: false,
    isDeleted: false,
    isRenamed: false,
    isCopied: false,
    oldMode: null,
    newMode: null,
    similarity: null,
  };
  const named = repeatedName(names, strip);
  let count = 0;
  for (const line of lines) {
    const next = readHeaderLine(header, line, strip, named);
    if (next === null) break;
    header = next;
    count += 1;
  }
  if (header.oldPath === null && header.newPath === null) {
    header.oldPath = named;
    header.newPath = named;
  }
  if ([header.isAdded, header.isDeleted, header.isRenamed, header.isCopied].filter(Boolean).length > 1)
    throw new Unreadable("its header lines contradict each other");
  if (header.isAdded) header.oldPath = null;
  if (header.isDeleted) header.newPath = null;
  if ((header.newPath === null && !header.isDeleted) || (header.oldPath === null && !header.isAdded))
    throw new Unreadable("its header does not say which file it is about");
  return [header, count];
}

type ReadLine = (rest: string, header: PatchHeader, strip: 0 | 1, named: string | null) => Partial<PatchHeader>;

const renamedFrom: ReadLine = (rest) => ({ isRenamed: true, oldPath: pathOf(rest, 0, false) });
const renamedTo: ReadLine = (rest) => ({ isRenamed: true, newPath: pathOf(rest, 0, false) });

/** What each line of a header says. `named` is the path in the `diff --git` line, which new and deleted files take. */
const HEADER_LINES: ReadonlyArray<readonly [prefix: string, read: ReadLine]> = [
  ["--- ", (rest, header, strip) => ({ oldPath: side(header.oldPath, rest, header.isAdded, strip) })],
  ["+++ ", (rest, header, strip) => ({ newPath: side(header.newPath, rest, header.isDeleted, strip) })],
  ["old mode ", (rest) => ({ oldMode: mode(rest) })],
  ["new mode ", (rest) => ({ newMode: mode(rest) })],
  ["deleted file mode ", (rest, _header, _strip, named) => ({ isDeleted: true, oldMode: mode(rest), oldPath: named })],
  ["new file mode ", (rest, _header, _strip, named) => ({ isAdded: true, newMode: mode(rest), newPath: named })],
  ["copy from ", (rest) => ({ isCopied: true, oldPath: pathOf(rest, 0, false) })],
  ["copy to ", (rest) => ({ isCopied: true, newPath: pathOf(rest, 0, false) })],
  ["rename from ", renamedFrom],
  ["rename old ", renamedFrom],
  ["rename to ", renamedTo],
  ["rename new ", renamedTo],
  ["similarity index ", (rest) => ({ similarity: Number.parseInt(rest, 10) || null })],
  ["dissimilarity index ", () => ({})],
  ["index ", (rest, header) => ({ oldMode: modeOfIndex(rest) ?? header.oldMode })],
];

function modeOfIndex(rest: string): string | null {
  const octal = rest.split(" ")[1];
  return octal === undefined ? null : mode(octal);
}

/** The header with what `line` says, or `null` if the header ends before it. */
function readHeaderLine(header: PatchHeader, line: string, strip: 0 | 1, named: string | null): PatchHeader | null {
  const found = HEADER_LINES.find(([prefix]) => line.startsWith(prefix));
  if (found === undefined) return null;
  const [prefix, read] = found;
  return { ...header, ...read(line.slice(prefix.length), header, strip, named) };
}

/** `/dev/null` means a missing file only if an earlier line added or deleted the file. */
function side(known: string | null, rest: string, isAbsent: boolean, strip: 0 | 1): string | null {
  if (isAbsent) {
    if (isDevNull(rest)) return null;
    throw new Unreadable("it names a file where /dev/null belongs");
  }
  const path = pathOf(rest, strip, true);
  if (known !== null && known !== path) throw new Unreadable("its file names contradict each other");
  return path;
}

function mode(octal: string): string {
  const digits = octal.trimEnd();
  if (!/^[0-7]+$/.test(digits)) throw new Unreadable("its file mode cannot be read");
  return digits;
}

/** The header of `diff -u`: `---`, `+++` and the first hunk. */
export function readPlainHeader(old: string, fresh: string, isOldEmpty: boolean, strip: 0 | 1): PatchHeader {
  const isAdded = isDevNull(old);
  const isDeleted = isDevNull(fresh);
  const oldPath = isAdded ? null : pathOf(old, strip, true);
  const newPath = isDeleted ? null : pathOf(fresh, strip, true);
  // If one name begins with the other, git takes the shorter one (`x` and `x.orig`).
  const both = oldPath !== null && newPath?.startsWith(oldPath) ? oldPath : (newPath ?? oldPath);
  if (both === null) throw new Unreadable("its header does not say which file it is about");
  return {
    oldPath: isAdded || isOldEmpty ? null : both,
    newPath: isDeleted ? null : both,
    isAdded: isAdded || isOldEmpty,
    isDeleted,
    isRenamed: false,
    isCopied: false,
    oldMode: null,
    newMode: null,
    similarity: null,
  };
}

/**
 * Whether git must strip the first folder of the names (`a/x b/x`) or not (`x x`, written by `--no-prefix`). One header of
 * the first form decides for all.
 */
export function stripLevel(text: string): 0 | 1 {
  let isUnprefixed = false;
  let hasGit = false;
  const starts = /^diff --git (.*)$/gm;
  for (let match = starts.exec(text); match !== null; match = starts.exec(text)) {
    hasGit = true;
    const names = (match[1] ?? "").replace(/\r$/, "");
    if (repeatedName(names, 0) !== null || isMovedWithoutPrefix(names, text, starts.lastIndex)) isUnprefixed = true;
    else if (repeatedName(names, 1) !== null) return 1;
  }
  if (hasGit) return isUnprefixed ? 0 : 1;
  const plain = /^--- (.*)\n\+\+\+ (.*)$/m.exec(text);
  if (plain === null) return 1;
  const [old = "", fresh = ""] = [plain[1], plain[2]].map((name) => (name ?? "").split(/[\t\r]/)[0]);
  const isPrefixed = (name: string) => /^[abciow12]\//.test(name);
  if (old === "/dev/null" || fresh === "/dev/null") return isPrefixed(old === "/dev/null" ? fresh : old) ? 1 : 0;
  return old !== fresh && old.includes("/") && fresh.includes("/") ? 1 : 0;
}

function isMovedWithoutPrefix(names: string, text: string, from: number): boolean {
  const following = text.slice(from + 1, from + 4096).split("\n", 6);
  for (const line of following) {
    if (line.startsWith("diff --git ")) return false;
    const moved = /^(?:rename|copy) from (.*)$/.exec(line);
    if (moved !== null) return names.startsWith(`${moved[1]} `);
  }
  return false;
}

/** The name that a `diff --git` line contains twice, or `null` if it does not. */
function repeatedName(names: string, strip: 0 | 1): string | null {
  const same = (left: string, right: string) => {
    const [a, b] = [stripped(left, strip), stripped(right, strip)];
    return a !== null && a !== "" && a === b ? a : null;
  };
  const quoted = unquote(names);
  if (quoted !== null) {
    const right = names.slice(quoted[1]).trimStart();
    return same(quoted[0], unquote(right)?.[0] ?? right);
  }
  const at = names.indexOf(' "');
  if (at !== -1) {
    const right = unquote(names.slice(at + 1));
    return right === null ? null : same(names.slice(0, at), right[0]);
  }
  if (names.length > 8192) return null;
  if (strip === 0) {
    const middle = (names.length - 1) / 2;
    const [left, right] = [names.slice(0, middle), names.slice(middle + 1)];
    return Number.isInteger(middle) && names[middle] === " " && left === right && !left.startsWith("/") ? left : null;
  }
  // The right name runs to the end of the line, so its length gives the end of the left one.
  const start = names.indexOf("/") + 1;
  if (start < 2) return null;
  for (let slash = names.indexOf("/", start); slash !== -1; slash = names.indexOf("/", slash + 1)) {
    const right = names.slice(slash + 1);
    const blank = start + right.length;
    const prefix = names.slice(blank + 1, slash);
    if (names[blank] !== " " || prefix === "" || prefix.includes("/")) continue;
    if (right !== "" && names.slice(start, blank) === right) return right;
  }
  return null;
}

function stripped(name: string, strip: 0 | 1): string | null {
  if (strip === 0) return name.startsWith("/") ? null : name;
  const slash = name.indexOf("/");
  return slash < 1 ? null : name.slice(slash + 1);
}

/** The name in a `---`, `+++`, `rename` or `copy` line; `null` if stripping leaves nothing. */
function pathOf(rest: string, strip: 0 | 1, endsAtTab: boolean): string | null {
  const end = rest.search(endsAtTab ? /[\t\r]/ : /\r/);
  const name = unquote(rest)?.[0] ?? (end === -1 ? rest : rest.slice(0, end));
  const slash = name.indexOf("/");
  if (strip === 1 && slash === -1) return null;
  const path = (strip === 1 ? name.slice(slash + 1) : name).replace(/\/{2,}/g, "/");
  return path === "" ? null : path;
}

function isDevNull(rest: string): boolean {
  return /^\/dev\/null(?:$|[ \t\r])/.test(rest);
}

const ESCAPES: Record<string, number> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, "\\": 92, '"': 34 };
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Decodes git's quoting (`"\303\244.txt"`). Also returns the length of the quoted form. */
export function unquote(text: string): [string, number] | null {
  if (!text.startsWith('"')) return null;
  const bytes: number[] = [];
  for (let at = 1; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') return [decoder.decode(new Uint8Array(bytes)), at + 1];
    if (character !== "\\") {
      const plain = /[^"\\]+/y;
      plain.lastIndex = at;
      const run = plain.exec(text)?.[0] ?? "";
      for (const byte of encoder.encode(run)) bytes.push(byte);
      at += run.length - 1;
      continue;
    }
    at += 1;
    const octal = /^[0-3][0-7]{2}/.exec(text.slice(at, at + 3));
    const byte = octal === null ? ESCAPES[text[at] ?? ""] : Number.parseInt(octal[0], 8);
    if (byte === undefined) return null;
    bytes.push(byte);
    if (octal !== null) at += 2;
  }
  return null;
}
