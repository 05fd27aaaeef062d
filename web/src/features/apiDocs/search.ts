/** The address of the API documentation: what is searched for, and the operation that is open. */

export interface ApiDocsSearch {
  q?: string;
  op?: string;
}

const MAX_LENGTH = 200;

/** Reads an address that a person may have written. What it does not understand, it leaves out. */
export function parseApiDocsSearch(search: Record<string, unknown>): ApiDocsSearch {
  return {
    ...(typeof search.q === "string" && search.q.trim() !== "" && { q: search.q.slice(0, MAX_LENGTH) }),
    ...(typeof search.op === "string" && /^[a-z_]{1,64}$/.test(search.op) && { op: search.op }),
  };
}
