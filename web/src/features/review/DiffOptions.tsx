import { keyOf } from "../../keys/bindings";
import { KeyHint } from "../../ui/KeyHint";
import { Toggle } from "../../ui/Toggle";
import { useDiffPreferences } from "./diffPreferences";

/** How the diff is shown. */
export function DiffOptions() {
  const { layout, wrap, words, view, toggleLayout, toggleWrap, toggleWords, toggleView } = useDiffPreferences();
  return (
    <div className="flex gap-1">
      <Option label="split" isSelected={layout === "split"} onChange={toggleLayout} shortcut={keyOf("split")} />
      <Option label="wrap" isSelected={wrap} onChange={toggleWrap} shortcut={keyOf("wrap")} />
      {view === "pane" && <Option label="words" isSelected={words} onChange={toggleWords} shortcut={keyOf("words")} />}
      <Option label="table" isSelected={view === "table"} onChange={toggleView} shortcut={keyOf("table")} />
    </div>
  );
}

interface OptionProps {
  label: string;
  isSelected: boolean;
  onChange: () => void;
  shortcut: string;
}

function Option({ label, isSelected, onChange, shortcut }: OptionProps) {
  return (
    <Toggle
      isSelected={isSelected}
      onChange={onChange}
      className="flex min-h-7 items-center gap-2 rounded border border-line bg-bg px-2 text-dim hover:bg-hover data-selected:border-accent data-selected:bg-accent-bg data-selected:text-text"
    >
      {label}
      <KeyHint keys={shortcut} />
    </Toggle>
  );
}
