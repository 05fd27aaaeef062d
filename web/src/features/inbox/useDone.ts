import { useState } from "react";
import { doneMark, type Inbox, withMark } from "./model";
import { useDoneMarks } from "./queries";

export interface Done {
  finish: (id: string) => void;
  undo: (id: string) => void;
  /** The review that was marked last. */
  last: { id: string; number: string } | null;
}

/** Marks of reviews that the person is done with, until something changes in them. */
export function useDone({ needsMe }: Inbox): Done {
  const [marks, setMarks] = useDoneMarks();
  const [last, setLast] = useState<Done["last"]>(null);
  return {
    last,
    finish: (id) => {
      const row = needsMe.find((item) => item.row.review_id === id)?.row;
      if (row === undefined) return;
      setMarks(withMark(marks, id, doneMark(row)));
      setLast({ id, number: row.number });
    },
    undo: (id) => {
      setMarks(withMark(marks, id, null));
      setLast(null);
    },
  };
}
