/** What a search in a log leaves in the address. */
export interface ReviewerLogSearch {
  q?: string;
}

const MAX_LENGTH = 200;

/** Reads an address that a person may have written. What it does not understand, it leaves out. */
export function parseReviewerLogSearch(search: Record<string, unknown>): ReviewerLogSearch {
  const { q } = search;
  if (typeof q !== "string" && typeof q !== "number" && typeof q !== "boolean") return {};
  const text = String(q).trim().slice(0, MAX_LENGTH);
  return text === "" ? {} : { q: text };
}
