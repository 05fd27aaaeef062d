import { useState } from "react";
import { inert } from "../text/inert";
import { Press } from "./Press";

/** A command that does the same in a terminal, with a button that copies it. */
export function CliLine({ line: given }: { line: string }) {
  // A filter of the address can have any text.
  const line = inert(given);
  const [copied, setCopied] = useState<"no" | "yes" | "failed">("no");
  const canCopy = typeof navigator !== "undefined" && navigator.clipboard !== undefined;
  const copy = () =>
    void navigator.clipboard.writeText(line).then(
      () => setCopied("yes"),
      () => setCopied("failed"),
    );
  return (
    <span className="inline-flex max-w-full items-center gap-2 rounded border border-line bg-raised px-2 text-xs text-dim">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
      <code tabIndex={0} className="overflow-x-auto py-1 whitespace-nowrap select-all">
        <span aria-hidden="true" className="select-none">
          ${" "}
        </span>
        {line}
      </code>
      {canCopy && (
        <Press
          onPress={copy}
          className="rounded-sm px-1 whitespace-nowrap hover:bg-hover hover:text-text"
          aria-label={`Copy ${line}`}
        >
          {copied === "yes" ? "copied" : copied === "failed" ? "select it to copy" : "copy"}
        </Press>
      )}
    </span>
  );
}
