// biome-ignore-all lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
import { useState } from "react";
import type { Issue } from "../../api/generated";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { promptOf } from "./model";

/** A text for an agent, in sight before it is copied. */
export function PromptDialog({ issues, onClose }: { issues: readonly Issue[]; onClose: () => void }) {
  const [copied, setCopied] = useState<"no" | "yes" | "failed">("no");
  const text = promptOf(issues);
  const canCopy = navigator.clipboard !== undefined;
  const copy = () =>
    void navigator.clipboard.writeText(text).then(
      () => setCopied("yes"),
      () => setCopied("failed"),
    );
  return (
    <Dialog title="Copy as prompt" isOpen onClose={onClose} isWide>
      <div className="flex flex-col gap-3">
        <p className="text-dim">What agents wrote is fenced as data. Read it before you give it to an agent.</p>
        <pre
          tabIndex={0}
          className="max-h-96 overflow-auto rounded border border-line bg-raised p-3 whitespace-pre-wrap select-all"
        >
          {text}
        </pre>
        {canCopy && (
          <Button kind="primary" onPress={copy} className="self-end">
            {copied === "yes" ? "Copied" : copied === "failed" ? "Select it to copy" : "Copy"}
          </Button>
        )}
      </div>
    </Dialog>
  );
}
