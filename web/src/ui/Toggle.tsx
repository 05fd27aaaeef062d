import { Press, type PressProps } from "./Press";

interface ToggleProps extends Omit<PressProps, "onPress" | "onChange"> {
  isSelected: boolean;
  onChange: (isSelected: boolean) => void;
}

/** A button that is on or off. Its look for "on" is under `data-selected:`. */
export function Toggle({ isSelected, onChange, ...rest }: ToggleProps) {
  return (
    <Press
      {...rest}
      aria-pressed={isSelected}
      data-selected={isSelected || undefined}
      onPress={() => onChange(!isSelected)}
    />
  );
}
