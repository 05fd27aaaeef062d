import type { ReactNode } from "react";
import { Button as AriaButton, type ButtonProps as AriaButtonProps } from "react-aria-components";
import { KeyHint } from "./KeyHint";

type Kind = "plain" | "primary" | "danger" | "quiet";

const KINDS: Record<Kind, string> = {
  plain: "border border-line bg-bg hover:bg-hover",
  primary: "border border-accent bg-accent text-on-accent hover:opacity-90",
  danger: "border border-bad bg-bg text-bad hover:bg-bad-bg",
  quiet: "border border-transparent text-dim hover:bg-hover hover:text-text",
};

interface ButtonProps extends Omit<AriaButtonProps, "children" | "className" | "isPending"> {
  children: ReactNode;
  kind?: Kind;
  /** The key that does the same, from the table of keys. */
  shortcut?: string;
  /** The call is on its way: the button says so and takes no second press. */
  isSending?: boolean;
  className?: string;
}

export function Button({
  children,
  kind = "plain",
  shortcut,
  isSending = false,
  className = "",
  ...rest
}: ButtonProps) {
  return (
    <AriaButton
      {...rest}
      isPending={isSending}
      className={`inline-flex min-h-7 items-center justify-center gap-2 rounded px-3 py-1 text-sm font-medium whitespace-nowrap disabled:cursor-not-allowed disabled:opacity-50 ${KINDS[kind]} ${className}`}
    >
      {isSending ? "sending…" : children}
      {shortcut !== undefined && <KeyHint keys={shortcut} />}
    </AriaButton>
  );
}
