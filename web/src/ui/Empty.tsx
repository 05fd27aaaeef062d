import type { ReactNode } from "react";
import { CliLine } from "./CliLine";

/** What an empty place means, and one thing to do about it. */
export function Empty({ title, children, cli }: { title: string; children?: ReactNode; cli?: string }) {
  return (
    <div className="rounded border border-dashed border-line px-6 py-10 text-center text-dim">
      <p className="text-base text-text">{title}</p>
      {children !== undefined && <div className="mt-2">{children}</div>}
      {cli !== undefined && (
        <div className="mt-3 flex justify-center">
          <CliLine line={cli} />
        </div>
      )}
    </div>
  );
}
