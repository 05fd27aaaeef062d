/**
 * The commands that pages show as their equivalent in a terminal. A test of the command line parses every line of
 * `examples`.
 */
import { commands } from "./features/apiDocs/commands";

/** Quotes an argument for a shell if it needs it. */
export function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
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
  open: () => "countersign open",
  openReview: (review: string) => `countersign open ${quoted(review)}`,
  approve: (review: string) => `countersign respond ${quoted(review)} --approve`,
  requestChanges: (review: string) => `countersign respond ${quoted(review)} --request-changes -m 'Say why'`,
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
  cliLines.open(),
  cliLines.openReview("R-12"),
  cliLines.approve("R-12"),
  cliLines.requestChanges("R-12"),
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
  cliLines.tokenList(),
];
