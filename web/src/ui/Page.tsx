import { type ReactNode, useEffect, useRef } from "react";
import { setPageTitle } from "../documentTitle";
import { CliLine } from "./CliLine";

interface PageProps {
  title: string;
  /** The command that shows the same in a terminal. */
  cli?: string;
  /** Shown beside the title. */
  actions?: ReactNode;
  children: ReactNode;
}

/** The frame of a page: document title, heading, and the equivalent command. */
export function Page({ title, cli, actions, children }: PageProps) {
  const heading = usePageTitle(title);
  return (
    <div className="mx-auto flex w-full max-w-7xl flex-col gap-4 p-4 md:p-6">
      <header className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <h1 ref={heading} tabIndex={-1} className="text-lg font-semibold">
          {title}
        </h1>
        <div className="grow" />
        {actions}
      </header>
      {children}
      {cli !== undefined && (
        <footer className="pt-2" data-print="hide">
          <CliLine line={cli} />
        </footer>
      )}
    </div>
  );
}

/** Sets the title of the document, and moves focus to the heading when another page opens. */
export function usePageTitle(title: string) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => setPageTitle(title), [title]);
  useEffect(() => {
    // Not on the first page: there the browser starts at the top by itself.
    if (isFirstPage) isFirstPage = false;
    else heading.current?.focus({ preventScroll: true });
  }, []);
  return heading;
}

let isFirstPage = true;
