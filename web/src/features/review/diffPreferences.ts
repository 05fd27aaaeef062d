import { isBoolean, isOneOf, useStored } from "../../storage";
import { useReview } from "./ReviewContext";

const isLayout = isOneOf("unified", "split");

/** How this browser shows diffs. The plain table is part of the address, so that a link can ask for it. */
export function useDiffPreferences() {
  const { search, go } = useReview();
  const [layout, setLayout] = useStored<"unified" | "split">("diff.layout", isLayout, "unified");
  const [wrap, setWrap] = useStored("diff.wrap", isBoolean, false);
  const [words, setWords] = useStored("diff.words", isBoolean, true);
  const [isTablePreferred, setTablePreferred] = useStored("diff.table", isBoolean, false);
  const view: "pane" | "table" = search.diff === "table" || isTablePreferred ? "table" : "pane";
  return {
    layout,
    wrap,
    words,
    view,
    toggleLayout: () => setLayout(layout === "split" ? "unified" : "split"),
    toggleWrap: () => setWrap(!wrap),
    toggleWords: () => setWords(!words),
    toggleView: () => {
      setTablePreferred(view === "pane");
      go({ diff: undefined });
    },
  };
}
