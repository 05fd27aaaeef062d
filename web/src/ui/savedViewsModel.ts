/** Named filters of a list, as the browser keeps them. */

export interface SavedView {
  name: string;
  search: Record<string, string>;
}

/** More would not be found again. */
export const MAX_VIEWS = 20;
const MAX_NAME_CHARS = 40;

/** The search parameters that are texts. */
export function textsOf(search: object): Record<string, string> {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => typeof value === "string"));
}

function isSavedView(value: unknown): value is SavedView {
  const view = value as SavedView | null;
  return (
    typeof view === "object" &&
    view !== null &&
    typeof view.name === "string" &&
    nameProblem(view.name) === null &&
    typeof view.search === "object" &&
    view.search !== null &&
    Object.values(view.search).every((each) => typeof each === "string")
  );
}

export function isSavedViews(value: unknown): value is SavedView[] {
  return Array.isArray(value) && value.length <= MAX_VIEWS && value.every(isSavedView);
}

/** What is wrong with a name. `null`: nothing. */
export function nameProblem(name: string): string | null {
  const chars = [...name.trim()].length;
  if (chars === 0) return "Give the view a name.";
  return chars > MAX_NAME_CHARS ? `A name has at most ${MAX_NAME_CHARS} characters; this one has ${chars}.` : null;
}

/** The same filters, in any order. */
export function isSameView(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

/** A view of the same name is replaced, in its place. */
export function withView(views: readonly SavedView[], view: SavedView): SavedView[] {
  const isKnown = views.some(({ name }) => name === view.name);
  return isKnown ? views.map((each) => (each.name === view.name ? view : each)) : [...views, view];
}
