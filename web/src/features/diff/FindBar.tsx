import type { RefObject } from "react";
import type { Found } from "./find";

interface FindBarProps {
  query: string;
  found: Found;
  /** Index of the match that the reader looks at. */
  at: number;
  inputRef: RefObject<HTMLInputElement | null>;
  onQuery: (query: string) => void;
  onStep: (step: 1 | -1) => void;
  onClose: () => void;
}

/** Find in the diff: Enter and Shift+Enter go through the matches, Esc closes. */
export function FindBar({ query, found, at, inputRef, onQuery, onStep, onClose }: FindBarProps) {
  const count = found.matches.length;
  return (
    <search className="diff-find">
      <input
        ref={inputRef}
        type="search"
        aria-label="Find in the diff"
        placeholder="Find in the diff"
        className="diff-find-input"
        value={query}
        onChange={(event) => onQuery(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") onStep(event.shiftKey ? -1 : 1);
          else if (event.key === "Escape") onClose();
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      <span className="diff-find-count" role="status">
        {query === ""
          ? ""
          : count === 0
            ? "nothing found"
            : `${at + 1} of ${count.toLocaleString("en")}${found.isCut ? "+" : ""}`}
      </span>
      <FindButton label="Previous match" glyph="↑" isDisabled={count === 0} onPress={() => onStep(-1)} />
      <FindButton label="Next match" glyph="↓" isDisabled={count === 0} onPress={() => onStep(1)} />
      <FindButton label="Close find" glyph="×" isDisabled={false} onPress={onClose} />
    </search>
  );
}

interface FindButtonProps {
  label: string;
  glyph: string;
  isDisabled: boolean;
  onPress: () => void;
}

function FindButton({ label, glyph, isDisabled, onPress }: FindButtonProps) {
  return (
    <button
      type="button"
      className="diff-find-button"
      aria-label={label}
      title={label}
      disabled={isDisabled}
      onClick={onPress}
    >
      {glyph}
    </button>
  );
}
