/** The title of the document: the page's, with the number of reviews that need the person in front. */
import { inertLine } from "./text/inert";

let title = "Countersign";
let needsMe = 0;

function show(): void {
  document.title = needsMe > 0 ? `(${needsMe}) ${title}` : title;
}

export function setPageTitle(page: string): void {
  title = `${inertLine(page, 80)} · Countersign`;
  show();
}

export function setTitleCount(count: number): void {
  needsMe = count;
  show();
}
