/** The title of the document: the page's, with the number of reviews that need the person in front. */
import { inertLine } from "./text/inert";

let title = "Countersign";
let needsMe: string | null = null;

function show(): void {
  document.title = needsMe !== null ? `(${needsMe}) ${title}` : title;
}

export function setPageTitle(page: string): void {
  title = `${inertLine(page, 80)} · Countersign`;
  show();
}

/** `null`: nothing needs the person. */
export function setTitleCount(count: string | null): void {
  needsMe = count;
  show();
}
