/** What the palette offers, and what matches a text. */
import { type ActionId, allBindings, keyOf } from "./bindings";

export interface Entry {
  id: string;
  label: string;
  /** The key that does the same, or the status of a review. */
  hint: string;
}

/** Moving along rows makes no sense from a dialog, and the palette is open already. */
const LEFT_OUT: ReadonlySet<ActionId> = new Set(["palette", "down", "up", "open", "preview", "done", "select"]);

/** The actions that the page on screen can do now. */
export function actionEntries(active: ReadonlySet<ActionId>): Entry[] {
  return (Object.keys(allBindings) as ActionId[])
    .filter((action) => active.has(action) && !LEFT_OUT.has(action))
    .map((action) => ({ id: action, label: allBindings[action].label, hint: keyOf(action) }));
}

/** Entries that contain every word of the text, those that start with it first. */
export function matching(entries: readonly Entry[], text: string): Entry[] {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = entries.filter(({ label }) => wanted.every((word) => label.toLowerCase().includes(word)));
  const startsWithIt = ({ label }: Entry) => label.toLowerCase().startsWith(wanted[0] ?? "");
  return [...found.filter(startsWithIt), ...found.filter((entry) => !startsWithIt(entry))];
}
