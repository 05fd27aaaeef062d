import type { ReactNode } from "react";
import { Button, Disclosure, DisclosurePanel, Heading } from "react-aria-components";

interface FoldProps {
  title: ReactNode;
  children: ReactNode;
  isOpenFirst?: boolean;
  /** A heading of the page's outline. Otherwise the title is a plain button. */
  level?: 2 | 3;
}

/** A part that opens and closes under its title. */
export function Fold({ title, children, isOpenFirst = false, level }: FoldProps) {
  const button = (
    <Button
      slot="trigger"
      className="flex w-full items-baseline gap-2 -mx-1 rounded px-1 py-1 text-left hover:bg-hover group-data-expanded/fold:mb-1"
    >
      <span aria-hidden="true" className="text-dim group-data-expanded/fold:rotate-90">
        ▸
      </span>
      <span className="min-w-0">{title}</span>
    </Button>
  );
  return (
    <Disclosure defaultExpanded={isOpenFirst} className="group/fold w-full">
      {level === undefined ? button : <Heading level={level}>{button}</Heading>}
      <DisclosurePanel>{children}</DisclosurePanel>
    </Disclosure>
  );
}
