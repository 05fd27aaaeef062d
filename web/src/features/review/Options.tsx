import { Label, Radio, RadioGroup } from "react-aria-components";

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
  const choose = (key: string) => {
    const option = options.find((one) => one.key === key);
    if (option !== undefined) onChange(option.key);
  };
  return (
    <RadioGroup value={value} onChange={choose} orientation="horizontal" className="flex flex-wrap items-center gap-1">
      <Label className={isLabelHidden ? "sr-only" : "mr-1 text-dim"}>{label}</Label>
      {options.map((option) => (
        <Radio
          key={option.key}
          value={option.key}
          className="flex min-h-7 cursor-pointer items-center gap-1 rounded border border-line bg-bg px-2 hover:bg-hover data-focus-visible:outline-2 data-focus-visible:outline-accent data-selected:border-accent data-selected:bg-accent-bg"
        >
          {option.label}
        </Radio>
      ))}
    </RadioGroup>
  );
}
