import { inertLine } from "../text/inert";
import { Press } from "./Press";

/** A filter in force, with a button that removes it. */
export function ActiveFilter({ name, value, onRemove }: { name: string; value: string; onRemove: () => void }) {
  return (
    <Press
      onPress={onRemove}
      className="inline-flex min-h-7 items-center gap-2 rounded-full border border-accent bg-accent-bg px-3 hover:bg-hover"
    >
      <span className="sr-only">Remove the filter </span>
      <span className="text-dim">{name}</span>
      {inertLine(value, 40)}
      <span aria-hidden="true">✕</span>
    </Press>
  );
}
