import { Button, Label, ListBox, ListBoxItem, Popover, Select, SelectValue } from "react-aria-components";
import { inertLine } from "../../text/inert";

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly { key: string; label: string }[];
  onChange: (key: string) => void;
  isLabelHidden?: boolean;
  isDisabled?: boolean;
}

/** One of several values. */
export function Choice({ label, value, options, onChange, isLabelHidden = false, isDisabled = false }: ChoiceProps) {
  return (
    <Select
      selectedKey={value}
      onSelectionChange={(key) => onChange(String(key))}
      isDisabled={isDisabled}
      className={isLabelHidden ? "min-w-0" : "flex min-w-0 items-center gap-2"}
    >
      <Label className={isLabelHidden ? "sr-only" : "whitespace-nowrap text-dim"}>{label}</Label>
      <Button className="flex min-h-7 max-w-full items-center gap-2 rounded border border-line-strong bg-bg px-2 py-1 text-left hover:bg-hover disabled:opacity-50">
        <SelectValue className="truncate" />
        <span aria-hidden="true" className="text-dim">
          ▾
        </span>
      </Button>
      <Popover className="max-h-80 min-w-(--trigger-width) max-w-md overflow-y-auto rounded border border-line bg-bg shadow-dialog">
        <ListBox className="p-1 outline-none">
          {options.map((option) => (
            <ListBoxItem
              key={option.key}
              id={option.key}
              textValue={option.label}
              className="cursor-pointer rounded-sm px-2 py-1 data-focused:bg-hover data-selected:font-semibold"
            >
              {inertLine(option.label)}
            </ListBoxItem>
          ))}
        </ListBox>
      </Popover>
    </Select>
  );
}
