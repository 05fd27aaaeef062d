import { cliLines } from "../cliLines";
import { inert } from "../text/inert";
import { CliLine } from "./CliLine";
import { Fold } from "./Fold";

const box = "overflow-auto rounded border border-line bg-bg p-2 text-xs";

/** The last output of a reviewer that failed. */
export function LastWords({ lines, isOpenFirst = false }: { lines: readonly string[]; isOpenFirst?: boolean }) {
  if (lines.length === 0) return null;
  return (
    <Fold title="Its last words" isOpenFirst={isOpenFirst}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
      <pre className={`${box} max-h-48`} tabIndex={0}>
        {inert(lines.join("\n"))}
      </pre>
    </Fold>
  );
}

const SETTINGS = '[pool]\nenabled = true\nruntime = "codex"   # or "claude"';

/** How to let the broker start reviewers. */
export function ReviewerHelp() {
  return (
    <div className="flex flex-col items-start gap-2">
      <p>
        Add this to <code>~/.config/countersign/config.toml</code>:
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
      <pre className={`${box} max-w-full`} tabIndex={0}>
        {SETTINGS}
      </pre>
      <p>Then stop the broker and start it again:</p>
      <CliLine line={cliLines.serve()} />
    </div>
  );
}
