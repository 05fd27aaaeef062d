import { useId } from "react";

interface OptionsProps<Key extends string> {
  label: string;
  value: Key;
  options: readonly { key: Key; label: string }[];
  onChange: (key: Key) => void;
  isLabelHidden?: boolean;
}

/** One of a few values, all in sight. */
export function Options<Key extends string>(props: OptionsProps<Key>) {
  const { label, value, options, onChange, isLabelHidden = false } = props;
  const name = useId();
  return (
    <div role="radiogroup" aria-label={label} className="flex flex-wrap items-center gap-1">
      {!isLabelHidden && (
        <span aria-hidden="true" className="mr-1 text-dim">
          {label}
        </span>
      )}
      {options.map((option) => (
        <label
          key={option.key}
          className="relative flex min-h-7 cursor-pointer items-center gap-1 rounded border border-line bg-bg px-2 hover:bg-hover has-checked:border-accent has-checked:bg-accent-bg has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            name={name}
            checked={option.key === value}
            onChange={() => onChange(option.key)}
            className="sr-only"
          />
          {option.label}
        </label>
      ))}
    </div>
  );
}
