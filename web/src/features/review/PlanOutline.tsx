import { Name } from "../../text/UserText";
import { Press } from "../../ui/Press";
import { planOutline } from "./outline";
import { useReview } from "./ReviewContext";

const INDENTS = ["pl-2", "pl-2", "pl-5", "pl-8", "pl-8", "pl-8", "pl-8"] as const;

/** The headings of a plan. */
export function PlanOutline({ text }: { text: string }) {
  const { goTo } = useReview();
  const headings = planOutline(text);
  if (headings.length < 2) return null;
  const show = (line: number) =>
    goTo({ kind: "place", place: { in: "description", path: null, side: "new", start: line, end: line } });
  return (
    <nav aria-label="Outline" className="w-52 shrink-0 overflow-y-auto border-r border-line p-2 max-lg:hidden">
      <ul>
        {headings.map(({ level, title, line }) => (
          <li key={line}>
            <Press
              onPress={() => show(line)}
              className={`w-full rounded py-1 pr-2 text-left hover:bg-hover ${INDENTS[level] ?? "pl-8"} ${level === 1 ? "font-semibold" : ""}`}
            >
              <Name>{title}</Name>
            </Press>
          </li>
        ))}
      </ul>
    </nav>
  );
}
