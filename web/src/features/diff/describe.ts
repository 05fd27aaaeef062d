/** Words for what happens to a file, and which files are folded at first. */
import { countLines, type FileChange, type PatchFile } from "./patch";

const GLYPHS: Record<FileChange, string> = { added: "A", deleted: "D", modified: "M", renamed: "R", copied: "C" };

/** One letter, as in `git status`. The word stands beside it or in the label. */
export function kindGlyph(file: PatchFile): string {
  return file.kind === "unreadable" ? "?" : GLYPHS[file.change];
}

/** "renamed, 92 % alike", "binary file, added, 12.0 kB". "" for a file that is only modified. */
export function kindWords(file: PatchFile): string {
  if (file.kind === "unreadable")
    return file.problem === "" ? "text that git ignores" : `cannot be read: ${file.problem}`;
  const words: string[] = [];
  if (file.kind === "binary") words.push("binary file");
  if (file.kind === "submodule") words.push("submodule");
  if (file.kind === "empty" && file.problem === null) words.push("empty file");
  if (file.change !== "modified") words.push(file.change);
  else if (file.kind === "binary" || file.kind === "submodule") words.push("changed");
  if (file.similarity !== null)
    words.push(file.similarity === 100 ? "content unchanged" : `${file.similarity} % alike`);
  words.push(...modeWords(file));
  if (file.binarySizes.length > 0) words.push([...file.binarySizes].reverse().map(bytes).join(" → "));
  if (file.isCrlf) words.push("CRLF line ends");
  if (file.problem !== null) words.push(`not read to its end: ${file.problem}`);
  return words.join(", ");
}

const MODES: Record<string, string> = {
  "100644": "plain file",
  "100755": "executable",
  "120000": "symbolic link",
  "160000": "submodule",
};

const modeName = (mode: string) => MODES[mode] ?? `mode ${mode}`;

function modeWords({ oldMode, newMode, change, kind }: PatchFile): string[] {
  if (oldMode !== null && newMode !== null && oldMode !== newMode)
    return [`${modeName(oldMode)} → ${modeName(newMode)}`];
  const mode = newMode ?? oldMode;
  const isUsual =
    mode === null || mode === "100644" || kind === "submodule" || (mode === "100755" && change !== "added");
  return isUsual ? [] : [modeName(mode)];
}

/** What stands in place of lines where a file has none to show. */
export function emptyWords(file: PatchFile): string | null {
  if (file.hunks.length > 0 || file.kind === "unreadable") return null;
  if (file.problem !== null) return `The patch names this file, but ${file.problem}.`;
  switch (file.kind) {
    case "binary":
      return "A binary file: its content is not shown.";
    case "empty":
      return file.change === "added" ? "The new file is empty." : "The deleted file was empty.";
    case "mode":
      return `Only the mode changes: ${modeWords(file).join(", ")}.`;
    default:
      return file.change === "copied" ? "Copied without changes." : "Renamed without changes.";
  }
}

/** Why `file.problem` matters to a reader. */
export function problemWords(file: PatchFile): string | null {
  if (file.problem === null) return null;
  if (file.problem === "") return "Git ignores this text: it belongs to no file.";
  const where = `From line ${file.firstLine} of the diff: ${file.problem}.`;
  return file.kind === "unreadable"
    ? `${where} The text as it was sent:`
    : `${where} What could be read is shown here.`;
}

function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  return size < 1_000_000 ? `${(size / 1000).toFixed(1)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
}

const LOCK_FILES =
  /(?:^|\/)(?:Cargo\.lock|package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|deno\.lock|go\.sum|poetry\.lock|uv\.lock|Pipfile\.lock|composer\.lock|Gemfile\.lock|flake\.lock|mix\.lock|pubspec\.lock|Podfile\.lock|gradle\.lockfile)$/;
const GENERATED_FILES =
  /(?:^|\/)(?:node_modules|vendor|__generated__|dist)\/|\.(?:min\.(?:js|css)|map|pb\.go|pb\.h|pb\.cc|g\.dart|freezed\.dart|designer\.cs)$|_pb2(?:_grpc)?\.pyi?$|[._]generated\.[^/]+$|(?:^|\/)generated\.[^/]+$/i;
const GENERATED_MARK = /@generated\b|\bcode generated\b.*\bdo not edit\b|\bautomatically generated\b.*\bdo not edit\b/i;

/** Why the file is folded at first, or `null`. */
export function foldReason(file: PatchFile): string | null {
  if (file.kind === "unreadable" || file.hunks.length === 0) return null;
  if (LOCK_FILES.test(file.path)) return "lock file";
  if (GENERATED_FILES.test(file.path)) return "generated file";
  const top = file.hunks[0];
  const isMarked =
    top !== undefined &&
    top.newStart <= 1 &&
    top.lines.slice(0, 8).some((line) => GENERATED_MARK.test(line.text.slice(0, 300)));
  return isMarked ? "generated file" : null;
}

export function sizeWords(file: PatchFile): string {
  const lines = countLines(file.text);
  return `${lines.toLocaleString("en")} ${lines === 1 ? "line" : "lines"} of diff`;
}

export const lineWords = (count: number): string => `${count.toLocaleString("en")} ${count === 1 ? "line" : "lines"}`;
