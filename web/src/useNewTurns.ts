import { useEffect, useRef } from "react";
import { type NeedsMe, newTurns } from "./announcement";
import { useNeedsMe } from "./features/inbox/queries";
import { useMe } from "./me";
import { myTurnWords, turnKey } from "./turns";

/** Calls `onNew` when it becomes the person's turn, once for each turn. */
export function useNewTurns(onNew: (fresh: NeedsMe[]) => void): void {
  const { name } = useMe();
  const { rows, isLoaded } = useNeedsMe();
  const known = useRef<{ name: string; keys: Set<string> } | null>(null);
  const latest = useRef(onNew);
  latest.current = onNew;
  const turns = rows.flatMap(({ row, turns: [turn] }): NeedsMe[] => {
    if (turn === undefined) return [];
    const { review_id, number, intent } = row;
    return [{ key: turnKey(review_id, turn), number, title: intent, why: myTurnWords(turn, row) }];
  });
  const signature = turns.map(({ key }) => key).join("\n");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the keys tell whether the turns are other ones
  useEffect(() => {
    if (!isLoaded) return;
    const before = known.current?.name === name ? known.current.keys : null;
    const fresh = newTurns(before, turns);
    known.current = { name, keys: new Set([...(before ?? []), ...turns.map(({ key }) => key)]) };
    if (fresh.length > 0) latest.current(fresh);
  }, [isLoaded, name, signature]);
}
