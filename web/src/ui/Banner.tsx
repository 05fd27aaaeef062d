import type { ReactNode } from "react";

type Tone = "info" | "warn" | "bad" | "ok";

const TONES: Record<Tone, readonly [glyph: string, colours: string]> = {
  info: ["i", "border-accent bg-accent-bg"],
  ok: ["✓", "border-ok bg-ok-bg"],
  warn: ["▲", "border-warn bg-warn-bg"],
  bad: ["✗", "border-bad bg-bad-bg"],
};

/** A remark that the reader should not miss. */
export function Banner({
  tone,
  title,
  children,
  actions,
}: {
  tone: Tone;
  title: ReactNode;
  children?: ReactNode;
  actions?: ReactNode;
}) {
  const [glyph, colours] = TONES[tone];
  return (
    <div className={`flex flex-wrap items-start gap-x-3 gap-y-2 border-l-4 px-3 py-2 ${colours}`}>
      <span aria-hidden="true" className="font-bold">
        {glyph}
      </span>
      <div className="min-w-0 grow basis-56">
        <p className="font-semibold">{title}</p>
        {children}
      </div>
      {actions}
    </div>
  );
}
