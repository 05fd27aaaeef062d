import {
  Button,
  ComboBox,
  Input,
  type Key,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  Select,
  SelectValue,
} from "react-aria-components";
import { inertLine } from "../text/inert";

export interface Option {
  value: string;
  label: string;
}

const box = "flex min-h-7 w-full items-center rounded border border-line-strong bg-bg px-2 py-1 text-left text-sm";
const popover = "max-h-72 w-(--trigger-width) overflow-auto rounded border border-line bg-bg p-1 shadow-dialog";
const item =
  "cursor-pointer rounded-sm px-2 py-1 data-focused:bg-hover data-selected:font-semibold data-disabled:text-dim";

const ANY = "";

/** One of several values, or any. */
export function Choice(props: {
  label: string;
  value: string;
  options: readonly Option[];
  onChange: (value: string) => void;
}) {
  const options = [{ value: ANY, label: "any" }, ...props.options];
  const change = (key: Key | null) => props.onChange(String(key ?? ANY));
  return (
    <Select selectedKey={props.value} onSelectionChange={change} className="flex flex-col gap-1">
      <Label className="font-medium">{props.label}</Label>
      <Button className={`${box} justify-between gap-2`}>
        <SelectValue className="truncate" />
        <span aria-hidden="true" className="text-dim">
          ▾
        </span>
      </Button>
      <Popover className={popover}>
        <ListBox items={options}>
          {(option) => (
            <ListBoxItem id={option.value} textValue={option.label} className={item}>
              {inertLine(option.label)}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </Select>
  );
}

/** A text, with suggestions. */
export function Suggest(props: {
  label: string;
  value: string;
  suggestions: readonly string[];
  onChange: (value: string) => void;
}) {
  const options = props.suggestions.map((value) => ({ value }));
  return (
    <ComboBox
      allowsCustomValue
      menuTrigger="focus"
      defaultInputValue={props.value}
      defaultItems={options}
      onSelectionChange={(key) => key !== null && props.onChange(String(key))}
      onBlur={(event) => {
        if (event.target instanceof HTMLInputElement) props.onChange(event.target.value.trim());
      }}
      className="flex flex-col gap-1"
    >
      <Label className="font-medium">{props.label}</Label>
      <Input placeholder="any" className={`${box} placeholder:text-dim`} />
      <Popover className={popover}>
        <ListBox items={options}>
          {({ value }) => (
            <ListBoxItem id={value} textValue={value} className={item}>
              {inertLine(value)}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </ComboBox>
  );
}
