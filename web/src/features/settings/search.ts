/** The address of the settings: what is searched for, and whether only changed ones are listed. */

export interface SettingsSearch {
  q?: string;
  changed?: true;
}

const MAX_LENGTH = 200;

/** Reads an address that a person may have written. What it does not understand, it leaves out. */
export function parseSettingsSearch(search: Record<string, unknown>): SettingsSearch {
  const q = typeof search.q === "number" ? String(search.q) : search.q;
  return {
    ...(typeof q === "string" && q.trim() !== "" && { q: q.slice(0, MAX_LENGTH) }),
    ...((search.changed === true || search.changed === "true") && { changed: true as const }),
  };
}
