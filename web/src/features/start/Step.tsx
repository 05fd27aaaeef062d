import type { ReactNode } from "react";

/** A numbered step that says whether it is done. */
export function Step({
  number,
  title,
  isDone,
  children,
}: {
  number: number;
  title: string;
  isDone: boolean;
  children: ReactNode;
}) {
  return (
    <li className="flex gap-4 rounded border border-line bg-bg p-4">
      <span
        aria-hidden="true"
        className={`flex size-7 shrink-0 items-center justify-center rounded-full font-semibold ${isDone ? "bg-ok-bg text-ok" : "bg-accent-bg text-accent"}`}
      >
        {isDone ? "✓" : number}
      </span>
      <div className="min-w-0 grow">
        <h2 className="flex flex-wrap items-baseline gap-x-3 text-base font-semibold">
          {title}
          <span role="status" className={`text-xs font-normal ${isDone ? "text-ok" : "text-dim"}`}>
            {isDone ? "done" : "to do"}
          </span>
        </h2>
        <div className="mt-2 flex flex-col items-start gap-3">{children}</div>
      </div>
    </li>
  );
}
