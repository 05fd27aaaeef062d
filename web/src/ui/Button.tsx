import { type ButtonKind, buttonLook } from "./buttonLook";
import { KeyHint } from "./KeyHint";
import { Press, type PressProps } from "./Press";

interface ButtonProps extends PressProps {
  kind?: ButtonKind;
  /** The key that does the same, from the table of keys. */
  shortcut?: string;
  /** The call is on its way: the button says so and takes no second press. It keeps the focus. */
  isSending?: boolean;
}

export function Button({ children, kind, shortcut, isSending = false, className = "", ...rest }: ButtonProps) {
  // A button without a type does not send its form.
  const whileSending = isSending ? ({ "aria-disabled": true, type: "button", onPress: undefined } as const) : {};
  return (
    <Press {...rest} {...whileSending} className={`${buttonLook(kind)} ${className}`}>
      {isSending ? "sending…" : children}
      {shortcut !== undefined && <KeyHint keys={shortcut} />}
    </Press>
  );
}
