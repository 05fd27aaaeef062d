import type { RefObject } from "react";
import { Dialog, Popover } from "react-aria-components";
import type { EventKind } from "../../api/generated";
import { Suggest } from "../../ui/Choice";
import { kindWords, type LogRow } from "./model";
import {
  FILTER_NAMES,
  kindsOf,
  type LogSearch,
  POOL_KINDS,
  REVIEW_KINDS,
  type TextFilter,
  withFilter,
  withKind,
} from "./search";

interface LogFilterMenuProps {
  search: LogSearch;
  onChange: (search: LogSearch) => void;
  rows: readonly LogRow[];
  /** The button that opened it. */
  trigger: RefObject<HTMLElement | null>;
  onClose: () => void;
}

const AGES = ["1h", "24h", "7d", "30d", "90d"];

/** The filters of the log, while they are open. */
export function LogFilterMenu({ trigger, onClose, ...props }: LogFilterMenuProps) {
  return (
    <Popover
      isOpen
      onOpenChange={(isOpen) => !isOpen && onClose()}
      triggerRef={trigger}
      placement="bottom start"
      className="w-96 max-w-full overflow-y-auto rounded border border-line bg-bg shadow-dialog"
    >
      <Dialog aria-label="Filters" className="flex flex-col gap-3 p-4 outline-none">
        <Texts {...props} />
        <Kinds {...props} title="Kinds of events of reviews" kinds={REVIEW_KINDS} />
        <Kinds {...props} title="Kinds of events of the pool" kinds={POOL_KINDS} />
      </Dialog>
    </Popover>
  );
}

type Parts = Omit<LogFilterMenuProps, "trigger" | "onClose">;

function Texts({ search, onChange, rows }: Parts) {
  const field = (name: TextFilter, suggestions: readonly (string | null)[]) => (
    <Suggest
      key={name}
      label={FILTER_NAMES[name]}
      value={search[name] ?? ""}
      suggestions={distinct(suggestions)}
      onChange={(value) => value !== (search[name] ?? "") && onChange(withFilter(search, name, value))}
    />
  );
  return (
    <div className="grid grid-cols-2 gap-3">
      {field("actor", rows.map((row) => row.actor).sort())}
      {field(
        "review",
        rows.map((row) => row.review),
      )}
      {field("since", AGES)}
      {field("until", AGES)}
      {field("project", [])}
    </div>
  );
}

function distinct(values: readonly (string | null)[]): string[] {
  return [...new Set(values.filter((value) => value !== null))];
}

interface KindsProps extends Parts {
  title: string;
  kinds: readonly EventKind[];
}

function Kinds({ search, onChange, title, kinds }: KindsProps) {
  const wanted = kindsOf(search);
  return (
    <fieldset>
      <legend className="mb-1 font-medium">{title}</legend>
      <div className="grid grid-cols-2 gap-x-3">
        {kinds.map((kind) => (
          <label key={kind} className="flex items-center gap-2 py-0.5">
            <input
              type="checkbox"
              checked={wanted.includes(kind)}
              onChange={({ target }) => onChange(withKind(search, kind, target.checked))}
            />
            {kindWords(kind)}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
