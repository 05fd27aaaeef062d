/**
 * Every key of the page. Handlers, help sheet, palette and tooltips read this table.
 *
 * A key is written as `Shift+J`, `Mod+K` (Ctrl, or ⌘ on a Mac) or as a sequence of two, `g i`. A letter is lower case
 * unless Shift is part of it.
 */

export type Scope = "everywhere" | "list" | "review" | "pool" | "log" | "actors";

export interface Binding {
  scope: Scope;
  keys: readonly string[];
  label: string;
}

export const bindings = {
  help: { scope: "everywhere", keys: ["?"], label: "Show all keys" },
  palette: { scope: "everywhere", keys: ["Mod+K"], label: "Open the palette" },
  goInbox: { scope: "everywhere", keys: ["g i"], label: "Go to Inbox" },
  goReviews: { scope: "everywhere", keys: ["g r"], label: "Go to Reviews" },
  goSettings: { scope: "everywhere", keys: ["g c"], label: "Go to Settings" },
  goApiDocs: { scope: "everywhere", keys: ["g d"], label: "Go to the documentation of the API" },
  goPool: { scope: "everywhere", keys: ["g p"], label: "Go to Reviewers" },
  goActors: { scope: "everywhere", keys: ["g a"], label: "Go to Actors" },
  goLog: { scope: "everywhere", keys: ["g l"], label: "Go to Activity" },
  goStats: { scope: "everywhere", keys: ["g s"], label: "Go to Stats" },
  goIssues: { scope: "everywhere", keys: ["g f"], label: "Go to Issues" },
  goSearch: { scope: "everywhere", keys: ["g /"], label: "Go to Search" },
  goStart: { scope: "everywhere", keys: ["g h"], label: "Go to Start" },
  goPreferences: { scope: "everywhere", keys: ["g ,"], label: "Go to Preferences" },
  pause: { scope: "everywhere", keys: ["w"], label: "Pause or continue live updates" },

  down: { scope: "list", keys: ["j", "ArrowDown"], label: "Next row" },
  up: { scope: "list", keys: ["k", "ArrowUp"], label: "Previous row" },
  open: { scope: "list", keys: ["Enter", "o"], label: "Open the row" },
  preview: { scope: "list", keys: ["Space"], label: "Preview the row" },
  find: { scope: "list", keys: ["/"], label: "Search" },
  saveView: { scope: "list", keys: ["b"], label: "Save the filters as a view" },
  select: { scope: "list", keys: ["x"], label: "Select the row, or no longer" },
  settleRows: { scope: "list", keys: ["e"], label: "Settle the selected issues, or that of the row" },
  done: { scope: "list", keys: ["y"], label: "Mark as done" },

  toParent: { scope: "review", keys: ["u"], label: "Back to the list" },
  nextReview: { scope: "review", keys: ["g n"], label: "After a verdict, go to the next review" },
  nextFile: { scope: "review", keys: ["]", "Shift+J"], label: "Next file" },
  previousFile: { scope: "review", keys: ["[", "Shift+K"], label: "Previous file" },
  nextChange: { scope: "review", keys: ["n"], label: "Next change" },
  previousChange: { scope: "review", keys: ["p"], label: "Previous change" },
  nextFinding: { scope: "review", keys: ["Shift+N"], label: "Next finding" },
  previousFinding: { scope: "review", keys: ["Shift+P"], label: "Previous finding" },
  viewed: { scope: "review", keys: ["v"], label: "Mark the file as viewed, go to the next" },
  findInDiff: { scope: "review", keys: ["/"], label: "Find in the diff" },
  split: { scope: "review", keys: ["m"], label: "Unified or split diff" },
  table: { scope: "review", keys: ["Shift+M"], label: "Diff as a plain table" },
  wrap: { scope: "review", keys: ["z"], label: "Wrap long lines" },
  words: { scope: "review", keys: ["Shift+W"], label: "Mark changed words" },
  comment: { scope: "review", keys: ["c"], label: "Comment on the selected lines" },
  reply: { scope: "review", keys: ["r"], label: "Write a message" },
  compare: { scope: "review", keys: ["d"], label: "Compare with the round you saw last" },
  approve: { scope: "review", keys: ["a"], label: "Approve" },
  requestChanges: { scope: "review", keys: ["x"], label: "Request changes" },
  settle: { scope: "review", keys: ["e"], label: "Settle the current finding" },
  takeSeat: { scope: "review", keys: ["t"], label: "Take a seat" },
  actions: { scope: "review", keys: ["."], label: "Show all actions" },
  replay: { scope: "review", keys: ["h"], label: "Replay the review from its history" },
  nextEvent: { scope: "review", keys: ["ArrowRight"], label: "Replay: next event" },
  previousEvent: { scope: "review", keys: ["ArrowLeft"], label: "Replay: previous event" },
  firstEvent: { scope: "review", keys: ["Home"], label: "Replay: first event" },
  lastEvent: { scope: "review", keys: ["End"], label: "Replay: last event" },
  backToNow: { scope: "review", keys: ["Escape"], label: "Replay: back to now" },
  send: { scope: "review", keys: ["Mod+Enter"], label: "Send the open form" },

  spawnReviewer: { scope: "pool", keys: ["s"], label: "Start a reviewer" },
  pausePool: { scope: "pool", keys: ["p"], label: "Pause or resume the pool" },
  limitPool: { scope: "pool", keys: ["l"], label: "Change the limit of the pool" },
  stopReviewers: { scope: "pool", keys: ["Shift+X"], label: "Stop all reviewers" },

  followLog: { scope: "log", keys: ["f"], label: "Follow the log, or pause" },
  toLogEnd: { scope: "log", keys: ["Shift+G"], label: "End of the log" },
  toLogStart: { scope: "log", keys: ["Home"], label: "Beginning of the log" },
  nextMatch: { scope: "log", keys: ["n"], label: "Next line that was found" },
  previousMatch: { scope: "log", keys: ["Shift+N"], label: "Previous line that was found" },
  toPool: { scope: "log", keys: ["u"], label: "Back to the reviewers" },

  freezeActors: { scope: "actors", keys: ["f"], label: "Freeze the tree, or continue" },
} as const satisfies Record<string, Binding>;

export type ActionId = keyof typeof bindings | RoundAction;

/** `1` to `9` show that round. */
export type RoundAction = `round${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9}`;

const rounds: Record<RoundAction, Binding> = Object.fromEntries(
  [1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => [
    `round${n}`,
    { scope: "review", keys: [String(n)], label: `Show round ${n}` },
  ]),
) as unknown as Record<RoundAction, Binding>;

export const allBindings: Readonly<Record<ActionId, Binding>> = { ...bindings, ...rounds };

/** The first key of an action, as buttons and the help sheet show it. */
export function keyOf(action: ActionId): string {
  return display(allBindings[action].keys[0] ?? "");
}

const isMac = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);

export function display(key: string): string {
  return key
    .replace("Mod+", isMac ? "⌘" : "Ctrl ")
    .replace("Shift+", "⇧")
    .replace("ArrowDown", "↓")
    .replace("ArrowUp", "↑")
    .replace("ArrowRight", "→")
    .replace("ArrowLeft", "←")
    .replace("Escape", "Esc");
}

/** A key press in the notation of the table. */
export function pressed(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">): string {
  const isLetter = /^\p{L}$/u.test(event.key);
  const sign = event.key === " " ? "Space" : event.key;
  const key = isLetter ? (event.shiftKey ? sign.toUpperCase() : sign.toLowerCase()) : sign;
  // Some keyboards write `[` with AltGr, which Windows reports as Ctrl and Alt, or with Alt on a Mac.
  const isAltSign = event.altKey && !isLetter && event.key.length === 1;
  const mod = (event.ctrlKey || event.metaKey) && !isAltSign ? "Mod+" : "";
  const alt = event.altKey && !isAltSign ? "Alt+" : "";
  // Shift is part of a sign such as `?` already.
  const shift = event.shiftKey && (isLetter || event.key.length > 1) && mod === "" ? "Shift+" : "";
  return `${mod}${alt}${shift}${mod === "" ? key : isLetter ? key.toUpperCase() : key}`;
}

/** Whether a key works while single keys are off and while text is typed. */
export function hasModifier(key: string): boolean {
  return key.startsWith("Mod+");
}

/**
 * The action for the keys pressed so far, among `active` ones: an action, `"prefix"` if a longer sequence starts with
 * them, or `null`.
 */
export function match(sequence: string, active: ReadonlySet<ActionId>): ActionId | "prefix" | null {
  for (const [action, binding] of Object.entries(allBindings) as [ActionId, Binding][]) {
    if (active.has(action) && binding.keys.includes(sequence)) return action;
  }
  const isPrefix = Object.entries(allBindings).some(
    ([action, { keys }]) => active.has(action as ActionId) && keys.some((key) => key.startsWith(`${sequence} `)),
  );
  return isPrefix ? "prefix" : null;
}
