import type { FormEvent, KeyboardEvent } from "react";

/** For a form: Ctrl or ⌘ with Enter sends, Escape closes it and keeps what was typed. Enter alone does neither. */
export function formKeys(send: () => void, close?: () => void) {
  return {
    onSubmit: (event: FormEvent) => event.preventDefault(),
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        event.stopPropagation();
        send();
      } else if (event.key === "Escape" && close !== undefined && !event.defaultPrevented) {
        event.preventDefault();
        event.stopPropagation();
        close();
      }
    },
  };
}
