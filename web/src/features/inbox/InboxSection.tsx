import type { ReactNode } from "react";

interface InboxSectionProps {
  title: string;
  count: number;
  /** The broker has more than are shown. */
  hasMore?: boolean;
  children: ReactNode;
}

/** A titled list of the inbox. */
export function InboxSection({ title, count, hasMore = false, children }: InboxSectionProps) {
  return (
    <section aria-label={title}>
      <h2 className="mb-1 flex items-baseline gap-2 text-sm font-semibold">
        {title}
        <span className="font-normal text-dim">
          {count}
          {hasMore && "+"}
        </span>
      </h2>
      {children}
    </section>
  );
}

export function Lines({ children }: { children: ReactNode }) {
  return <ul className="rounded border border-line bg-bg">{children}</ul>;
}
