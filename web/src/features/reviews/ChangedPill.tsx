import { Press } from "../../ui/Press";

interface ChangedPillProps {
  changed: number;
  /** The list was kept from an earlier visit and is older than the last events. */
  isOld: boolean;
  onShow: () => void;
}

/** Says that the list changed, without changing it under the eye. */
export function ChangedPill({ changed, isOld, onShow }: ChangedPillProps) {
  const words = changed > 0 ? `${changed} changed` : isOld ? "This list is from your last visit" : null;
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
