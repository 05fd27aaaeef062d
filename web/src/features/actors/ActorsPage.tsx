import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { call } from "../../api/client";
import type { Actors } from "../../api/generated";
import { keys } from "../../api/keys";
import { cliLines } from "../../cliLines";
import { keyOf } from "../../keys/bindings";
import { useKeys } from "../../keys/KeysContext";
import { useMe } from "../../me";
import { Name } from "../../text/UserText";
import { Failure } from "../../ui/Failure";
import { KeyHint } from "../../ui/KeyHint";
import { Page } from "../../ui/Page";
import { SkeletonRows } from "../../ui/Skeleton";
import { Toggle } from "../../ui/Toggle";
import { ActorTree } from "./ActorTree";
import { type History, NO_HISTORY, nameOf, observe, warningsOf } from "./model";

const POLL_MS = 2_000;

/** The live actors of the broker. It asks again every two seconds while the page is in sight. */
export function ActorsPage() {
  const { whoami } = useMe();
  const [isFrozen, setFrozen] = useState(false);
  const query = useQuery({
    queryKey: keys.actors,
    queryFn: ({ signal }) => call("get_actors", {}, { signal }),
    refetchInterval: isFrozen ? false : POLL_MS,
    enabled: whoami !== null,
    gcTime: 0,
  });
  useKeys({ freezeActors: () => setFrozen(!isFrozen) });
  const { data } = query;
  return (
    <Page
      title="Actors"
      cli={cliLines.actors()}
      actions={
        <>
          <FindActor />
          <Toggle
            isSelected={isFrozen}
            onChange={setFrozen}
            className="inline-flex min-h-7 items-center gap-2 rounded border border-line px-3 font-medium hover:bg-hover data-selected:border-accent data-selected:bg-accent-bg"
          >
            Freeze <KeyHint keys={keyOf("freezeActors")} />
          </Toggle>
        </>
      }
    >
      {data !== undefined ? (
        <>
          {query.isError && <p className="text-warn">The broker does not answer. This is what it said last.</p>}
          <ActorsBody actors={data} at={query.dataUpdatedAt} />
        </>
      ) : query.isError ? (
        <Failure error={query.error} what="The actors" retry={() => void query.refetch()} />
      ) : (
        <SkeletonRows count={8} label="actors" />
      )}
    </Page>
  );
}

function ActorsBody({ actors, at }: { actors: Actors; at: number }) {
  const { q = "" } = useSearch({ from: "/actors" });
  const history = useHistory(actors, at);
  const warnings = warningsOf(history, actors);
  const { store, calls, more_reviews } = actors;
  return (
    <>
      <section aria-label="Warnings" role="status">
        {warnings.length === 0 ? (
          <p className="text-dim">No mailbox grows, and no actor was restarted.</p>
        ) : (
          <ul className="flex flex-col gap-1 rounded border border-warn bg-warn-bg px-3 py-2">
            {warnings.map(({ path, words }) => (
              <li key={`${path} ${words}`}>
                <span aria-hidden="true">▲</span> <Name className="font-medium">{nameOf(path)}</Name>: {words}
              </li>
            ))}
          </ul>
        )}
      </section>
      <ActorTree root={actors.root} query={q} warned={new Set(warnings.map(({ path }) => path))} />
      {more_reviews > 0 && <p className="text-dim">And {more_reviews.toLocaleString("en")} more live reviews.</p>}
      <p className="text-dim">
        Store: {store.changes.toLocaleString("en")} changes in {store.commits.toLocaleString("en")} transactions,{" "}
        {store.waiting} waiting. Calls: {calls.in_flight} in flight, {calls.waiting} waiting for a change.
      </p>
    </>
  );
}

/** What the page has seen so far. Each answer is observed once. */
function useHistory(actors: Actors, at: number): History {
  const [history, setHistory] = useState(NO_HISTORY);
  const [observed, setObserved] = useState(0);
  if (observed !== at) {
    setObserved(at);
    setHistory(observe(history, actors, at));
  }
  return history;
}

function FindActor() {
  const { q = "" } = useSearch({ from: "/actors" });
  const navigate = useNavigate({ from: "/actors" });
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(q);
  useKeys({ find: () => input.current?.focus() });
  useEffect(() => {
    const wanted = text.trim();
    void navigate({ search: wanted === "" ? {} : { q: wanted }, replace: true, resetScroll: false });
  }, [text, navigate]);
  return (
    <search className="flex min-h-7 items-center gap-2 rounded border border-line-strong bg-bg px-2 focus-within:border-accent">
      <input
        ref={input}
        type="search"
        aria-label="Find an actor"
        placeholder="Find an actor"
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          // Browsers would empty the field.
          event.preventDefault();
          input.current?.blur();
        }}
        className="w-40 min-w-0 bg-transparent py-1 text-sm outline-none placeholder:text-dim"
      />
      <KeyHint keys={keyOf("find")} />
    </search>
  );
}
