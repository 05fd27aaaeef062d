import type { ReactNode } from "react";
import { Switch as AriaSwitch } from "react-aria-components";

interface SwitchProps {
  isSelected: boolean;
  onChange: (isSelected: boolean) => void;
  isDisabled?: boolean;
  children: ReactNode;
}

/** On or off, at once. The state is also a word. */
export function Switch({ children, ...rest }: SwitchProps) {
  return (
    <AriaSwitch
      {...rest}
      className="group inline-flex cursor-pointer items-center gap-2 data-disabled:cursor-not-allowed"
    >
      <span className="flex h-5 w-9 shrink-0 items-center rounded-full border border-line-strong bg-raised p-0.5 group-data-focus-visible:outline-2 group-data-focus-visible:outline-accent group-data-selected:justify-end group-data-selected:border-accent group-data-selected:bg-accent">
        <span className="size-3.5 rounded-full bg-line-strong group-data-selected:bg-on-accent" />
      </span>
      {children}
      <span aria-hidden="true" className="text-dim">
        {rest.isSelected ? "on" : "off"}
      </span>
    </AriaSwitch>
  );
}
