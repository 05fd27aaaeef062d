import { useState } from "react";
import { Button } from "./Button";

/** A longer text to copy, for example for a chat. Where the clipboard is not available, it is selected with a click. */
export function CopyText({ label, text }: { label: string; text: string }) {
  const [copied, setCopied] = useState<"no" | "yes" | "failed">("no");
  const canCopy = typeof navigator !== "undefined" && navigator.clipboard !== undefined;
  const copy = () =>
    void navigator.clipboard.writeText(text).then(
      () => setCopied("yes"),
      () => setCopied("failed"),
    );
  return (
    <div className="flex flex-col items-start gap-2 rounded border border-line bg-raised p-3">
      <p className="break-words select-all">{text}</p>
      {canCopy && (
        <Button onPress={copy} aria-label={label}>
          {copied === "yes" ? "Copied" : copied === "failed" ? "Select it to copy" : "Copy"}
        </Button>
      )}
    </div>
  );
}
