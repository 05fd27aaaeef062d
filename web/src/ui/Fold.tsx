import { type ReactNode, useId, useState } from "react";
import { Press } from "./Press";

interface FoldProps {
  title: ReactNode;
  children: ReactNode;
  isOpenFirst?: boolean;
  /** A heading of the page's outline. Otherwise the title is a plain button. */
  level?: 2 | 3;
}

/** A part that opens and closes under its title. What it holds stays as it is while it is closed. */
export function Fold({ title, children, isOpenFirst = false, level }: FoldProps) {
  const [isOpen, setOpen] = useState(isOpenFirst);
  const id = useId();
  const Heading = level === 2 ? "h2" : level === 3 ? "h3" : "div";
  return (
    <div className="w-full">
      <Heading>
        <Press
          aria-expanded={isOpen}
          aria-controls={id}
          onPress={() => setOpen(!isOpen)}
          className={`-mx-1 flex w-full items-baseline gap-2 rounded px-1 py-1 text-left hover:bg-hover ${isOpen ? "mb-1" : ""}`}
        >
          <span aria-hidden="true" className={`text-dim ${isOpen ? "rotate-90" : ""}`}>
            ▸
          </span>
          <span className="min-w-0">{title}</span>
        </Press>
      </Heading>
      <div id={id} hidden={!isOpen}>
        {children}
      </div>
    </div>
  );
}
