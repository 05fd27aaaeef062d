/** The search of the page of actors, as it stands in the address. */
export interface ActorsSearch {
  q?: string;
}

const MAX_LENGTH = 200;

/** Reads an address that a person may have written. What it does not understand, it leaves out. */
export function parseActorsSearch(search: Record<string, unknown>): ActorsSearch {
  const { q } = search;
  if (typeof q !== "string" && typeof q !== "number" && typeof q !== "boolean") return {};
  const text = String(q).trim().slice(0, MAX_LENGTH);
  return text === "" ? {} : { q: text };
}
