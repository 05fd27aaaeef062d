import { useCallback, useRef, useState } from "react";
import {
  expanded,
  expandedAround,
  expandedFully,
  type FileContext,
  matches,
  NO_CONTEXT,
  STEP,
  splitLines,
} from "./context";
import type { Side } from "./notes";
import type { PatchFile } from "./patch";
import { pathOn } from "./rows";
import type { GapAction } from "./viewer";

type LoadFile = (path: string, side: Side) => Promise<string | null>;

/** The lines around the hunks that the reader asked for. A file is loaded once, when its first lines are asked for. */
export function useContexts(files: readonly PatchFile[], loadFile: LoadFile) {
  const [contexts, setContexts] = useState<readonly FileContext[]>(() => files.map(() => NO_CONTEXT));
  const loads = useRef(new Map<number, Promise<FileContext>>());

  const change = useCallback(
    (file: PatchFile, apply: (context: FileContext) => FileContext): Promise<void> => {
      const put = (update: (context: FileContext) => FileContext) =>
        setContexts((all) => all.map((context, index) => (index === file.index ? update(context) : context)));
      const loading = loads.current.get(file.index) ?? load(file, loadFile);
      loads.current.set(file.index, loading);
      put((context) => (context.state === "ready" ? context : { ...context, state: "loading" }));
      return loading.then((loaded) => {
        // A failed load can be tried again.
        if (loaded.state === "failed") loads.current.delete(file.index);
        put((context) => (loaded.state === "ready" ? apply({ ...loaded, shown: context.shown }) : loaded));
      });
    },
    [loadFile],
  );

  const expand = useCallback(
    ({ file, gap, from }: GapAction) => {
      const own = files[file];
      if (own === undefined) return;
      void change(own, (context) =>
        from === "all" ? expanded(context, gap, "start", Number.MAX_SAFE_INTEGER) : expanded(context, gap, from, STEP),
      );
    },
    [files, change],
  );
  const showWhole = useCallback((file: PatchFile) => change(file, (context) => expandedFully(file, context)), [change]);
  const showAround = useCallback(
    (file: PatchFile, side: Side, line: number) => change(file, (context) => expandedAround(file, context, side, line)),
    [change],
  );
  return { contexts, expand, showWhole, showAround };
}

async function load(file: PatchFile, loadFile: LoadFile): Promise<FileContext> {
  try {
    const text = await loadFile(pathOn(file, "new"), "new");
    if (text === null) return { ...NO_CONTEXT, state: "unavailable" };
    const lines = splitLines(text);
    return matches(file, lines) ? { ...NO_CONTEXT, state: "ready", lines } : { ...NO_CONTEXT, state: "mismatch" };
  } catch {
    return { ...NO_CONTEXT, state: "failed" };
  }
}
