import { Pill } from "./Pill";

interface ChangedPillProps {
  changed: number;
  /** The list was kept from an earlier visit and is older than the last events. */
  isOld: boolean;
  onShow: () => void;
}

/** Says that the list changed. */
export function ChangedPill({ changed, isOld, onShow }: ChangedPillProps) {
  const words = changed > 0 ? `${changed} changed` : isOld ? "This list is from your last visit" : null;
  return <Pill words={words} onShow={onShow} />;
}
