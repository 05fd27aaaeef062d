import { memo, type ReactNode, type RefObject, useEffect, useMemo, useRef, useState } from "react";
import {
  Button,
  Checkbox,
  Input,
  ListLayout,
  SearchField,
  Tree,
  TreeItem,
  TreeItemContent,
  Virtualizer,
} from "react-aria-components";
import { inert } from "../../text/inert";
import { kindWords } from "./describe";
import { Changes, KindGlyph } from "./FileHead";
import { NoteCount } from "./NoteCount";
import type { PlacedNotes } from "./notes";
import type { PatchFile } from "./patch";
import { buildTree, type FileNode, fileKey, folderKeys, shownKeys, type TreeNode } from "./tree";
import { type Viewed, viewedState } from "./viewed";

interface FileTreeProps {
  files: readonly PatchFile[];
  notes: PlacedNotes;
  marks: Readonly<Record<string, string>>;
  current: number | null;
  onViewed: (file: PatchFile, isViewed: boolean) => void;
  onOpen: (file: number) => void;
}

const ROW_HEIGHT = 28;
/** From so many files only those in sight are rendered. */
const MANY_FILES = 40;

/** The files of the diff by folder. The file at the top of the view is marked while the reader scrolls. */
export const FileTree = memo(function FileTree({ files, notes, marks, current, onViewed, onOpen }: FileTreeProps) {
  const [filter, setFilter] = useState("");
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const nodes = useMemo(() => buildTree(files, filter), [files, filter]);
  const expanded = useMemo(
    () => new Set(folderKeys(nodes).filter((key) => filter !== "" || !closed.has(key))),
    [nodes, closed, filter],
  );
  const list = useRef<HTMLDivElement>(null);
  useKeepInSight(
    list,
    useMemo(() => shownKeys(nodes, expanded), [nodes, expanded]),
    current,
  );
  const readable = files.filter((file) => file.kind !== "unreadable");
  const seen = readable.filter((file) => viewedState(file, marks) === "viewed").length;
  // The same children as before need no new collection: the current file changes with every few lines of scrolling.
  const children = useMemo(
    () => nodes.map((node) => renderNode(node, { notes, marks, onViewed })),
    [nodes, notes, marks, onViewed],
  );
  const tree = (
    <Tree
      ref={list}
      aria-label="Files of the diff"
      className="diff-tree-list"
      selectionMode="single"
      selectionBehavior="replace"
      disallowEmptySelection
      selectedKeys={current === null ? [] : [fileKey(current)]}
      onSelectionChange={(keys) => {
        const index = keys === "all" ? null : indexOf([...keys][0]);
        if (index !== null) onOpen(index);
      }}
      expandedKeys={expanded}
      onExpandedChange={(keys) => setClosed(new Set(folderKeys(nodes).filter((key) => !keys.has(key))))}
      renderEmptyState={() => <p className="diff-tree-empty">No file matches.</p>}
    >
      {children}
    </Tree>
  );
  return (
    <nav className="diff-tree" aria-label="Files">
      <div className="diff-tree-top">
        <SearchField aria-label="Filter files" value={filter} onChange={setFilter} className="diff-tree-filter">
          <Input placeholder="Filter files" />
        </SearchField>
        <p className="diff-tree-seen">
          {seen} of {readable.length} viewed
        </p>
      </div>
      {files.length > MANY_FILES ? (
        <Virtualizer layout={ListLayout} layoutOptions={{ rowHeight: ROW_HEIGHT }}>
          {tree}
        </Virtualizer>
      ) : (
        tree
      )}
    </nav>
  );
});

/** Scrolls the tree to the file that the reader looks at, unless the reader is in the tree. Rows may not be rendered. */
function useKeepInSight(list: RefObject<HTMLElement | null>, keys: readonly string[], current: number | null): void {
  useEffect(() => {
    const view = list.current;
    const index = current === null ? -1 : keys.indexOf(fileKey(current));
    if (view === null || index === -1 || view.matches(":hover") || view.contains(document.activeElement)) return;
    const rowHeight = view.scrollHeight / Math.max(keys.length, 1);
    const top = index * rowHeight;
    if (top < view.scrollTop) view.scrollTop = top;
    else if (top + 2 * rowHeight > view.scrollTop + view.clientHeight)
      view.scrollTop = top + 2 * rowHeight - view.clientHeight;
  }, [list, keys, current]);
}

type RowInput = Pick<FileTreeProps, "notes" | "marks" | "onViewed">;

function renderNode(node: TreeNode, input: RowInput): ReactNode {
  if (node.type === "folder")
    return (
      <TreeItem key={node.key} id={node.key} textValue={inert(node.name)} className="diff-tree-item">
        <TreeItemContent>
          {({ isExpanded }) => (
            <Button slot="chevron" className="diff-tree-folder">
              <span aria-hidden="true">{isExpanded ? "▾" : "▸"}</span>
              <bdi className="diff-tree-name">{inert(node.name)}</bdi>
            </Button>
          )}
        </TreeItemContent>
        {node.children.map((child) => renderNode(child, input))}
      </TreeItem>
    );
  const { notes, marks, onViewed } = input;
  return (
    <TreeItem key={node.key} id={node.key} textValue={inert(node.name)} className="diff-tree-item">
      <TreeItemContent>
        <FileRow node={node} notes={notes} viewed={viewedState(node.file, marks)} onViewed={onViewed} />
      </TreeItemContent>
    </TreeItem>
  );
}

interface FileRowProps {
  node: FileNode;
  notes: PlacedNotes;
  viewed: Viewed;
  onViewed: (file: PatchFile, isViewed: boolean) => void;
}

function FileRow({ node, notes, viewed, onViewed }: FileRowProps) {
  const { file } = node;
  const own = notes.files[file.index];
  const words = kindWords(file) || file.change;
  return (
    <div
      className="diff-tree-file"
      title={`${inert(file.path)}: ${words}`}
      data-viewed={viewed === "viewed" || undefined}
    >
      <KindGlyph file={file} />
      <bdi className="diff-tree-name">{inert(node.name)}</bdi>
      <span className="sr-only">{words}</span>
      {own !== undefined && <NoteCount count={own.count} worst={own.worst} />}
      <Changes additions={file.additions} deletions={file.deletions} />
      {viewed === "changed" && (
        <span className="diff-tree-changed" title="changed since you looked">
          <span aria-hidden="true">●</span>
          <span className="sr-only">changed since you looked</span>
        </span>
      )}
      {file.kind !== "unreadable" && (
        <Checkbox
          slot={null}
          className="diff-tree-viewed"
          aria-label={`Viewed ${inert(node.name)}`}
          isSelected={viewed === "viewed"}
          onChange={(isViewed) => onViewed(file, isViewed)}
        >
          <span aria-hidden="true">✓</span>
        </Checkbox>
      )}
    </div>
  );
}

function indexOf(key: unknown): number | null {
  const found = /^file (\d+)$/.exec(String(key));
  return found === null ? null : Number(found[1]);
}
