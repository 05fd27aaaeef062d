import { useAreKeysOn } from "../keys/preference";

/** The key of a button, as the help sheet shows it. Hidden while single keys are off, and from screen readers. */
export function KeyHint({ keys }: { keys: string }) {
  const areKeysOn = useAreKeysOn();
  if (!areKeysOn) return null;
  return (
    <span
      aria-hidden="true"
      className="hidden rounded-sm border border-line px-1 font-mono text-xs font-normal whitespace-nowrap md:inline"
    >
      {keys}
    </span>
  );
}
