/** What `countersign open` puts behind the `#` of the address. A fragment is never sent to a server. */
export interface Fragment {
  code: string | null;
  /** Where to go afterwards. */
  next: string;
}

const MAX_LENGTH = 2_000;

export function parseFragment(hash: string): Fragment {
  const values = new URLSearchParams(hash.replace(/^#/, "").slice(0, MAX_LENGTH));
  const code = values.get("code")?.trim() ?? "";
  return { code: code === "" ? null : code, next: safeNext(values.get("next")) };
}

/** A path of this page, or the inbox. Never another site: `//host`, `/\host` and `https:` leave this one. */
export function safeNext(next: string | null): string {
  if (next === null || !/^\/(?![/\\])/.test(next) || /[\p{Cc}\\]/u.test(next)) return "/";
  try {
    const url = new URL(next, "http://page.invalid");
    if (url.origin !== "http://page.invalid" || url.pathname.startsWith("//")) return "/";
    return url.pathname === "/sign-in" ? "/" : `${url.pathname}${url.search}${url.hash}`;
  } catch {
    return "/";
  }
}
