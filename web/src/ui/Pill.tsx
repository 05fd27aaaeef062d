import { Press } from "./Press";

/** Says above a list that there is something new, without changing the list under the eye. `null`: nothing is new. */
export function Pill({ words, onShow }: { words: string | null; onShow: () => void }) {
  return (
    <div
      role="status"
      className="pointer-events-none sticky top-14 z-20 -mt-4 flex h-0 items-start justify-center md:top-3"
    >
      {words !== null && (
        <Press
          onPress={onShow}
          className="pointer-events-auto rounded-full border border-accent bg-accent px-3 py-1 text-sm font-medium text-on-accent shadow-dialog"
        >
          {words} · show
        </Press>
      )}
    </div>
  );
}
