/**
 * The commands that pages show as their equivalent in a terminal. A test of the command line parses every line of
 * `examples`.
 */
import { commands } from "./features/apiDocs/commands";

/** Quotes an argument for a shell if it needs it. */
export function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}

type LogFilters = Partial<Record<"review" | "actor" | "kind" | "project" | "since" | "until", string | undefined>>;
type StatsFilters = Partial<Record<"by" | "project" | "since" | "until", string | undefined>>;

/** The command with an option for each filter that has a value. */
function withFilters(command: string, filters: LogFilters | StatsFilters): string {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined && value !== "");
  return [command, ...given.map(([name, value]) => `--${name} ${quoted(value ?? "")}`)].join(" ");
}

export const cliLines = {
  init: () => "countersign init",
  demo: () => "countersign demo",
  demoServe: () => "countersign demo --serve",
  request: () => "countersign request",
  list: () => "countersign list",
  listAll: () => "countersign list --all",
  listMyTurn: () => "countersign list --my-turn",
  listMyTurnAsOperator: () => "countersign list --my-turn --role operator",
  listStatus: (status: string) => `countersign list --status ${quoted(status)}`,
  show: (review: string) => `countersign show ${quoted(review)}`,
  showAt: (review: string, at: number) => `countersign show ${quoted(review)} --at ${at}`,
  diff: (review: string) => `countersign diff ${quoted(review)}`,
  issues: (options: readonly (readonly [option: string, value?: string])[]) =>
    [
      "countersign issues",
      ...options.map(([name, value]) => (value === undefined ? name : `${name} ${quoted(value)}`)),
    ].join(" "),
  search: (words: string) => `countersign search ${quoted(words)}`,
  open: () => "countersign open",
  openReview: (review: string) => `countersign open ${quoted(review)}`,
  approve: (review: string) => `countersign respond ${quoted(review)} --approve`,
  requestChanges: (review: string) => `countersign respond ${quoted(review)} --request-changes -m 'Say why'`,
  activity: (filters: LogFilters) => withFilters("countersign activity", filters),
  audit: (filters: LogFilters) => withFilters("countersign audit", filters),
  stats: (filters: StatsFilters) => withFilters("countersign stats", filters),
  serve: () => "countersign serve",
  reviewerList: () => "countersign reviewer list",
  configRunning: () => "countersign config running",
  configList: () => "countersign config list",
  configEdit: () => "countersign config edit",
  configSet: (name: string, value: string) => `countersign config set ${quoted(name)} ${quoted(value)}`,
  personas: () => "countersign personas",
  projectAdd: () => "countersign project add",
  projectRemove: (name: string) => `countersign project remove ${quoted(name)}`,
  webhooksList: () => "countersign webhooks list",
  webhooksRedeliver: (name: string) => `countersign webhooks redeliver ${quoted(name)} --all`,
  reviewerLogs: (reviewer: string) => `countersign reviewer logs ${quoted(reviewer)} --follow`,
  reviewerSpawn: () => "countersign reviewer spawn --persona security",
  reviewerPause: () => "countersign reviewer pause",
  reviewerResume: () => "countersign reviewer resume",
  reviewerLimit: (size: number) => `countersign reviewer limit ${size}`,
  reviewerStopAll: () => "countersign reviewer stop --all",
  reviewerStop: (reviewer: string) => `countersign reviewer stop ${quoted(reviewer)}`,
  actors: () => "countersign actors",
  tokenList: () => "countersign token list",
};

export const examples: readonly string[] = [
  ...Object.values(commands),
  cliLines.init(),
  cliLines.demo(),
  cliLines.demoServe(),
  cliLines.request(),
  cliLines.list(),
  cliLines.listAll(),
  cliLines.listMyTurn(),
  cliLines.listMyTurnAsOperator(),
  cliLines.listStatus("changes_requested"),
  cliLines.show("R-12"),
  cliLines.showAt("R-12", 7),
  cliLines.diff("R-12"),
  cliLines.issues([]),
  cliLines.issues([
    ["--status", "open"],
    ["--status", "wont_fix"],
    ["--severity", "high"],
    ["--type", "bug"],
    ["--blocking"],
    ["--open-reviews"],
    ["--project", "shop"],
    ["--persona", "security"],
    ["--reviewer", "ada"],
    ["--file", "src/a b.rs"],
    ["--search", "it's"],
    ["--by-urgency"],
  ]),
  cliLines.issues([["--group-by", "file"]]),
  cliLines.search("lost umlaut"),
  cliLines.open(),
  cliLines.openReview("R-12"),
  cliLines.approve("R-12"),
  cliLines.requestChanges("R-12"),
  cliLines.activity({}),
  cliLines.audit({ review: "R-12", actor: "ada b", kind: "claimed,closed", project: "app", since: "7d", until: "1h" }),
  cliLines.stats({}),
  cliLines.stats({ by: "persona", project: "app", since: "2026-11-12", until: "2026-11-19" }),
  cliLines.serve(),
  cliLines.reviewerList(),
  cliLines.configRunning(),
  cliLines.configList(),
  cliLines.configEdit(),
  cliLines.configSet("pool.models", "opus, sonnet"),
  cliLines.configSet("server.data_dir", ""),
  cliLines.personas(),
  cliLines.projectAdd(),
  cliLines.projectRemove("my app"),
  cliLines.webhooksList(),
  cliLines.webhooksRedeliver("ci"),
  cliLines.reviewerLogs("codex-r1"),
  cliLines.reviewerSpawn(),
  cliLines.reviewerPause(),
  cliLines.reviewerResume(),
  cliLines.reviewerLimit(2),
  cliLines.reviewerStopAll(),
  cliLines.reviewerStop("codex-r1"),
  cliLines.actors(),
  cliLines.tokenList(),
];
