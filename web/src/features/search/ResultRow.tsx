// biome-ignore-all lint/a11y/useSemanticElements: rows are placed by the virtual list, which elements of a table are not
// biome-ignore-all lint/a11y/useFocusableInteractive: the link in the row takes the focus
import { Link } from "@tanstack/react-router";
import type { SearchResult } from "../../api/generated";
import { KIND_WORDS, placeOfFound } from "../../foundText";
import { rowAttribute } from "../../keys/useRowKeys";
import { Name } from "../../text/UserText";
import { Snippet } from "../../ui/Snippet";
import { Age } from "../../ui/Time";

/** The widths of the columns on a wide screen. */
export const columns = {
  kind: "shrink-0 xl:w-20",
  text: "min-w-0 max-xl:order-first max-xl:w-full xl:flex-1",
  by: "truncate xl:w-32 xl:shrink-0",
  age: "shrink-0 text-right max-xl:ml-auto xl:w-14",
};

/** A text that was found. The link leads to it. */
export function ResultRow({ found }: { found: SearchResult }) {
  return (
    <div className="flex flex-wrap items-start gap-x-3 gap-y-1 px-3 py-2 xl:flex-nowrap">
      <span role="cell" className={`text-dim ${columns.kind}`}>
        {KIND_WORDS[found.kind]}
      </span>
      <span role="cell" className={columns.text}>
        <Link
          to="/r/$review"
          {...placeOfFound(found)}
          {...rowAttribute(`${found.kind} ${found.issue_id ?? found.message_id ?? found.verdict_id ?? found.number}`)}
          className="flex items-baseline gap-2 text-text no-underline after:absolute after:inset-0 hover:no-underline focus-visible:outline-none focus-visible:after:rounded-sm focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
        >
          <span className="shrink-0 whitespace-nowrap text-dim">{found.issue_id ?? found.number}</span>
          <span className="line-clamp-2 min-w-0 font-medium xl:line-clamp-1">
            {found.title === undefined ? <Name>{found.intent}</Name> : <Snippet parts={found.title} />}
          </span>
        </Link>
        {found.snippet.length > 0 && (
          <p className="line-clamp-3 text-xs text-dim">
            <Snippet parts={found.snippet} />
          </p>
        )}
      </span>
      <span role="cell" className={`text-dim ${columns.by}`}>
        {found.by !== undefined && <Name>{found.by}</Name>}
      </span>
      <span role="cell" className={`text-dim ${columns.age}`}>
        <span className="sr-only">age </span>
        <Age at={found.at} />
      </span>
    </div>
  );
}
