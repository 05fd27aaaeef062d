// biome-ignore-all lint/a11y/useSemanticElements: it is a cell of the row that it stands under
// biome-ignore-all lint/a11y/useFocusableInteractive: its links take the focus
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Answer } from "../../api/client";
import { UserText } from "../../text/UserText";
import { Refusal } from "../../ui/Failure";
import { factText, kindWords } from "./model";
import { event } from "./queries";
import { type LogSearch, withFilter, withoutFilters } from "./search";

/** All that the log says about one event. */
export function EventDetails({ seq, search }: { seq: number; search: LogSearch }) {
  const { data, error } = useQuery(event(seq));
  return (
    <div role="cell" className="relative z-1 border-t border-line bg-raised px-3 py-3">
      {error !== null && <Refusal error={error} />}
      {data === undefined ? (
        error === null && <p className="animate-appear-late text-dim">Loading event {seq}…</p>
      ) : (
        <>
          <Facts event={data} />
          <Links event={data} search={search} />
        </>
      )}
    </div>
  );
}

function Facts({ event: shown }: { event: Answer<"get_event"> }) {
  const facts: [string, unknown][] = [
    ["time", new Date(shown.at).toLocaleString()],
    ["actor", shown.actor ?? "the broker"],
    ["status", shown.status === null ? null : kindWords(shown.status)],
    ["round", shown.round],
    ["version", shown.version],
    ["project", shown.project],
    ...Object.entries(shown.data),
  ];
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
      {facts.map(([name, value]) => {
        const text = factText(value);
        return (
          text !== null && (
            <div key={name} className="contents">
              <dt className="text-dim">{kindWords(name)}</dt>
              <dd>
                <UserText text={text} />
              </dd>
            </div>
          )
        );
      })}
    </dl>
  );
}

function Links({ event: shown, search }: { event: Answer<"get_event">; search: LogSearch }) {
  return (
    <p className="mt-3 flex flex-wrap gap-x-4 gap-y-1">
      <Link to="/log" search={{ ...withoutFilters(search), seq: shown.seq }}>
        Link to event {shown.seq}
      </Link>
      {shown.number !== null && (
        <>
          <Link to="/r/$review" params={{ review: shown.number }}>
            Open {shown.number}
          </Link>
          <Link to="/log" search={withFilter(search, "review", shown.number)}>
            Only {shown.number}
          </Link>
        </>
      )}
      {shown.actor !== null && (
        <Link to="/log" search={withFilter(search, "actor", shown.actor)}>
          Only this actor
        </Link>
      )}
      <Link to="/log" search={withFilter(search, "kind", shown.kind)}>
        Only this kind
      </Link>
    </p>
  );
}
