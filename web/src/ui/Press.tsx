import type { ComponentProps } from "react";

export interface PressProps extends Omit<ComponentProps<"button">, "onClick" | "disabled"> {
  onPress?: (() => void) | undefined;
  isDisabled?: boolean | undefined;
}

/**
 * A button without a look. Menus and popovers of react-aria need that library's own button; everything else uses this one,
 * so that a page without them does not load the library.
 */
export function Press({ onPress, isDisabled = false, type = "button", ...rest }: PressProps) {
  return (
    <button {...rest} type={type} disabled={isDisabled} onClick={onPress === undefined ? undefined : () => onPress()} />
  );
}
