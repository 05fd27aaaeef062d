// @vitest-environment happy-dom
import { act, useState } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Diff, type DiffHandle, type DiffNote, type LineRange } from "./Diff";
import { parsePatch } from "./patch";
import { TEST_FILE, TEST_PATCH } from "./testPatch";

vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);

const patch = parsePatch(TEST_PATCH);
let root: Root;
let place: HTMLElement;
let handle: DiffHandle | null = null;
let setNotes: (notes: readonly DiffNote[]) => void;
const commented = vi.fn();
const loadFile = vi.fn<(path: string) => Promise<string | null>>();

const finding = (id: string, start: number | null, path: string | null = "src/exec.rs"): DiffNote => ({
  id,
  path,
  side: "new",
  start,
  end: start,
  rank: 3,
});

function Page({ layout = "unified" as const, first = [] as readonly DiffNote[] }) {
  const [selection, setSelection] = useState<LineRange | null>(null);
  const [notes, set] = useState(first);
  setNotes = set;
  return (
    <Diff
      patch={patch}
      reviewKey="r1"
      contentHash="hash"
      notes={notes}
      renderNote={(id) => <input aria-label={`reply to ${id}`} />}
      layout={layout}
      wrap
      words
      view="table"
      selection={selection}
      onSelect={setSelection}
      onComment={commented}
      loadFile={loadFile}
      handle={(given) => {
        handle = given;
      }}
    />
  );
}

const show = (first: readonly DiffNote[] = []) => act(() => root.render(<Page first={first} />));
const rows = () => [...place.querySelectorAll<HTMLElement>("tr.diff-line")];
const labels = () => rows().map((row) => row.querySelector("td")?.getAttribute("aria-label"));
const focusedLabel = () => document.activeElement?.querySelector("td")?.getAttribute("aria-label");
const selected = () => labels().filter((_, at) => rows()[at]?.getAttribute("aria-selected") === "true");
const press = (key: string, options: KeyboardEventInit = {}) =>
  act(() =>
    document.activeElement?.dispatchEvent(
      new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...options }),
    ),
  );

beforeEach(() => {
  place = document.body.appendChild(document.createElement("div"));
  root = createRoot(place);
  commented.mockClear();
  loadFile.mockReset();
});

afterEach(() => {
  act(() => root.unmount());
  place.remove();
  localStorage.clear();
});

it("names every line for readers, in a table of its file", () => {
  show();
  expect(labels().slice(0, 4)).toEqual(["line 3", "removed line 4", "added line 4", "added line 5"]);
  const tables = [...place.querySelectorAll("table")].map((table) => table.getAttribute("aria-label"));
  expect(tables).toEqual(["Changes in src/exec.rs", "Changes in src/new.rs", "Changes in new/name.rs"]);
});

it("is one tab stop that arrow keys move", () => {
  show();
  expect(place.querySelectorAll('tr[tabindex="0"]')).toHaveLength(1);
  act(() => rows()[0]?.focus());
  press("ArrowDown");
  press("ArrowDown");
  expect(focusedLabel()).toBe("added line 4");
  expect(selected()).toEqual(["added line 4"]);
  press("ArrowDown", { shiftKey: true });
  expect(selected()).toEqual(["added line 4", "added line 5"]);
  expect(place.querySelectorAll('tr[tabindex="0"]')).toHaveLength(1);
  press("Enter");
  expect(commented).toHaveBeenLastCalledWith({ path: "src/exec.rs", side: "new", start: 4, end: 5 });
  press("c");
  expect(commented).toHaveBeenCalledTimes(2);
  press("Escape");
  expect(selected()).toEqual([]);
});

it("leaves `c` alone while single keys are off", () => {
  localStorage.setItem("countersign.v1.keys", "false");
  show();
  act(() => rows()[0]?.focus());
  press("c");
  expect(commented).not.toHaveBeenCalled();
  press("Enter");
  expect(commented).toHaveBeenCalledOnce();
});

it("selects by mouse: a line number, with Shift a range, and comments on it", () => {
  show();
  const gutter = (label: string) => place.querySelector<HTMLElement>(`td[aria-label="${label}"]`);
  const down = (label: string, shiftKey = false) =>
    act(() => gutter(label)?.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true, button: 0, shiftKey })));
  down("added line 4");
  down("line 6", true);
  expect(selected()).toEqual(["added line 4", "added line 5", "line 6"]);
  act(() => gutter("added line 5")?.querySelector("button")?.click());
  expect(commented).toHaveBeenLastCalledWith({ path: "src/exec.rs", side: "new", start: 4, end: 6 });
});

it("shows every note: under its line, in the head of its file, or elsewhere", () => {
  show([
    finding("a", 5),
    finding("b", 12),
    finding("c", null, "new/name.rs"),
    finding("d", 1, "gone.rs"),
    finding("e", null, null),
  ]);
  const inputs = [...place.querySelectorAll("input[aria-label^='reply']")].map((input) =>
    input.getAttribute("aria-label"),
  );
  expect(inputs).toEqual(["reply to b", "reply to a", "reply to c", "reply to d", "reply to e"]);
  expect(place.querySelector("[aria-label='Elsewhere']")?.querySelectorAll("input")).toHaveLength(2);
  expect(labels()).toContain("added line 5, has notes");
});

it("keeps the focus and the text of a note when another one arrives above it", () => {
  show([finding("late", 22)]);
  const input = place.querySelector<HTMLInputElement>("[aria-label='reply to late']");
  act(() => input?.focus());
  act(() => setNotes([finding("early", 3), finding("same line", 22), finding("late", 22)]));
  expect(place.querySelectorAll("input[aria-label^='reply']")).toHaveLength(3);
  expect(document.activeElement).toBe(input);
  expect(input?.isConnected).toBe(true);
});

it("shows more lines, and the line of a note", async () => {
  loadFile.mockResolvedValue(TEST_FILE);
  show([finding("hidden", 12)]);
  const button = (name: string) =>
    [...place.querySelectorAll("button")].find((each) => (each.ariaLabel ?? each.textContent) === name);
  await act(async () => button("Show the line")?.click());
  expect(labels()).toContain("line 12, has notes");
  expect(button("Show the line")).toBeUndefined();
  await act(async () => button("whole file")?.click());
  expect(labels()).toContain("line 30");
  expect(loadFile).toHaveBeenCalledOnce();
});

it.each([
  ["not available", () => Promise.resolve(null)],
  ["could not be loaded", () => Promise.reject(new Error("offline"))],
  ["the stored file differs from this diff", () => Promise.resolve("another file\n")],
])("says why lines cannot be shown: %s", async (words, answer) => {
  loadFile.mockImplementation(answer);
  show();
  await act(async () => place.querySelector<HTMLElement>(".diff-gap-button")?.click());
  expect(place.querySelector(".diff-gap-text")?.textContent).toContain(words);
});

it("marks a file as viewed, folds it and goes to the next", () => {
  show();
  act(() => handle?.markViewedAndNext());
  expect(handle?.currentFile()).toBe("src/new.rs");
  expect(labels()).toEqual(["added line 1", "added line 2"]);
  expect(place.querySelector(".diff-tree-seen")?.textContent).toBe("1 of 3 viewed");
});

it("goes through changes and notes", () => {
  show([finding("first", 5), finding("last", null, null)]);
  act(() => handle?.nextChange(1));
  expect(selected()).toEqual(["removed line 4"]);
  const shown: unknown[] = [];
  for (let step = 0; step < 3; step += 1) act(() => void shown.push(handle?.nextNote(1)));
  expect(shown).toEqual(["first", "last", "first"]);
});

it("writes hidden characters out and runs nothing", () => {
  const hostile = parsePatch(
    TEST_PATCH.replace("fn added() {}", "\u202e<img src=x onerror=alert(1)>").replaceAll("src/new.rs", "src/<b>.rs"),
  );
  act(() =>
    root.render(
      <Diff
        patch={hostile}
        reviewKey="r1"
        contentHash="hostile"
        notes={[]}
        renderNote={() => null}
        layout="unified"
        wrap
        words
        view="table"
        selection={null}
        onSelect={vi.fn()}
        onComment={vi.fn()}
        loadFile={loadFile}
      />,
    ),
  );
  expect(place.textContent).toContain("‹U+202E›<img src=x onerror=alert(1)>");
  expect(place.textContent).toContain("<b>.rs");
  expect(place.querySelector("img, b")).toBeNull();
});
