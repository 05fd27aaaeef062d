import { type RefObject, useEffect, useRef, useState } from "react";

/** Whether the end of a list is in sight, and how many entries came since it last was. */
export function useEndInSight(
  box: RefObject<HTMLElement | null>,
  last: number,
  entries: readonly { version: number }[],
) {
  const end = useRef<HTMLDivElement>(null);
  const [isEndInSight, setInSight] = useState(true);
  const [seen, setSeen] = useState(last);
  useEffect(() => {
    if (end.current === null) return;
    const observer = new IntersectionObserver(([entry]) => setInSight(entry?.isIntersecting === true), {
      root: box.current,
      rootMargin: "0px 0px 24px 0px",
    });
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [box]);
  useEffect(() => {
    if (isEndInSight) setSeen(last);
  }, [isEndInSight, last]);
  return { end, isEndInSight, unseen: entries.filter(({ version }) => version > seen).length };
}
