import { useEffect, useRef, useState } from "react";
import { isEmpty, type KeptDraft, putDraft, readDrafts, removeDraft } from "./drafts";
import { useReview } from "./ReviewContext";

const STORE_AFTER_MS = 300;

/** The comment that is being typed. It is stored after a moment, and at the latest when its form goes away. */
export function useKeptDraft(first: KeptDraft) {
  const { id } = useReview();
  // The form may have been taken off the page while out of sight: it goes on with what was stored then.
  const [draft, setDraft] = useState(() => readDrafts(id).find((kept) => kept.id === first.id) ?? first);
  const pending = useRef<{ timer: ReturnType<typeof setTimeout>; draft: KeptDraft } | null>(null);

  const [flush] = useState(() => () => {
    const waiting = pending.current;
    if (waiting === null) return;
    clearTimeout(waiting.timer);
    pending.current = null;
    if (isEmpty(waiting.draft)) removeDraft(id, waiting.draft);
    else putDraft(id, waiting.draft);
  });
  const drop = () => {
    if (pending.current !== null) clearTimeout(pending.current.timer);
    pending.current = null;
  };
  useEffect(() => {
    addEventListener("pagehide", flush);
    return () => {
      removeEventListener("pagehide", flush);
      flush();
    };
  }, [flush]);

  const change = (part: Partial<KeptDraft>) => {
    const next = { ...draft, ...part };
    setDraft(next);
    drop();
    pending.current = { timer: setTimeout(flush, STORE_AFTER_MS), draft: next };
  };
  return { draft, change, flush, drop };
}
