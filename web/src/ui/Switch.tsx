import type { ReactNode } from "react";

interface SwitchProps {
  isSelected: boolean;
  onChange: (isSelected: boolean) => void;
  isDisabled?: boolean;
  children: ReactNode;
}

/** On or off, at once. The state is also a word. */
export function Switch({ children, isSelected, onChange, isDisabled = false }: SwitchProps) {
  return (
    <label className="group relative inline-flex cursor-pointer items-center gap-2 has-disabled:cursor-not-allowed">
      <input
        type="checkbox"
        role="switch"
        aria-checked={isSelected}
        checked={isSelected}
        disabled={isDisabled}
        onChange={({ target }) => onChange(target.checked)}
        className="sr-only"
      />
      <span className="flex h-5 w-9 shrink-0 items-center rounded-full border border-line-strong bg-raised p-0.5 group-has-checked:justify-end group-has-checked:border-accent group-has-checked:bg-accent group-has-focus-visible:outline-2 group-has-focus-visible:outline-accent">
        <span className="size-3.5 rounded-full border border-line-strong bg-line-strong group-has-checked:bg-on-accent" />
      </span>
      {children}
      <span aria-hidden="true" className="text-dim">
        {isSelected ? "on" : "off"}
      </span>
    </label>
  );
}
