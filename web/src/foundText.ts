/** A text that a search has found: what it is, and where it leads. The palette and the search page share it. */
import type { SearchResult, SnippetPart } from "./api/generated";
import type { ReviewSearch } from "./features/review/search";

/** The place in the review. */
export function placeOfFound(found: SearchResult): { params: { review: string }; search: ReviewSearch } {
  const params = { review: found.number };
  if (found.issue_id !== undefined) return { params, search: { finding: found.issue_id } };
  return { params, search: found.kind === "review" ? {} : { tab: "conversation" } };
}

export const KIND_WORDS: Record<SearchResult["kind"], string> = {
  review: "review",
  finding: "issue",
  message: "message",
  verdict: "verdict",
};

export function plainText(parts: readonly SnippetPart[]): string {
  return parts.map(({ text }) => text).join("");
}
