export type ButtonKind = "plain" | "primary" | "danger" | "quiet";

const KINDS: Record<ButtonKind, string> = {
  plain: "border border-line bg-bg hover:bg-hover",
  primary: "border border-accent bg-accent text-on-accent hover:opacity-90",
  danger: "border border-bad bg-bg text-bad hover:bg-bad-bg",
  quiet: "border border-transparent text-dim hover:bg-hover hover:text-text",
};

/** The classes of a button, also for one that opens a menu. */
export function buttonLook(kind: ButtonKind = "plain"): string {
  return `inline-flex min-h-7 items-center justify-center gap-2 rounded px-3 py-1 text-sm font-medium whitespace-nowrap disabled:cursor-not-allowed disabled:opacity-50 aria-disabled:cursor-progress aria-disabled:opacity-50 ${KINDS[kind]}`;
}
