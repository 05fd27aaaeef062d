import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { call } from "../../api/client";
import { keys } from "../../api/keys";
import { cliLines } from "../../cliLines";
import { ActiveFilter } from "../../ui/ActiveFilter";
import { Button } from "../../ui/Button";
import { Empty } from "../../ui/Empty";
import { Failure } from "../../ui/Failure";
import { FindField } from "../../ui/FindField";
import { Options } from "../../ui/Options";
import { Page } from "../../ui/Page";
import { SkeletonRows } from "../../ui/Skeleton";
import { VirtualTable } from "../../ui/VirtualTable";
import { columns, ResultRow } from "./ResultRow";
import { KIND_NAMES, KINDS, type TextSearch } from "./search";

const PAGE_SIZE = 30;

const WORDS = {
  label: "Results",
  one: "result",
  many: "results",
  columns: [
    ["Kind", columns.kind],
    ["Text", columns.text],
    ["By", columns.by],
    ["Age", columns.age],
  ],
} as const;

/** Searches titles, descriptions, messages, reasons and issues of all reviews. */
export function SearchPage() {
  const search = useSearch({ from: "/search" });
  const navigate = useNavigate({ from: "/search" });
  const setSearch = (next: TextSearch) => void navigate({ search: next, replace: true, resetScroll: false });
  const { q, in: kind, project, ...rest } = search;
  const list = useResults(search);
  const results = list.data?.pages.flatMap((page) => page.results) ?? [];
  const isIndexing = list.data?.pages.some((page) => page.indexing === true) === true;
  return (
    <Page title="Search" {...(q !== undefined && { cli: cliLines.search(q) })}>
      <div className="flex flex-wrap items-center gap-x-6 gap-y-2">
        <FindField
          label="Search in all texts"
          placeholder="Words of a text"
          value={q ?? ""}
          onChange={(text) =>
            setSearch({
              ...rest,
              ...(kind && { in: kind }),
              ...(project && { project }),
              ...(text !== "" && { q: text }),
            })
          }
          autoFocus
        />
        <Options
          label="In"
          value={kind ?? "all"}
          options={[
            { key: "all", label: "all" },
            ...KINDS.map((key) => ({ key, label: KIND_NAMES[key].toLowerCase() })),
          ]}
          onChange={(key) =>
            setSearch({ ...(q !== undefined && { q }), ...(project && { project }), ...(key !== "all" && { in: key }) })
          }
        />
        {project !== undefined && (
          <ActiveFilter
            name="Project"
            value={project}
            onRemove={() => setSearch({ ...(q !== undefined && { q }), ...(kind && { in: kind }) })}
          />
        )}
      </div>
      {isIndexing && (
        <p role="status" className="rounded bg-warn-bg px-3 py-2 text-warn">
          The broker still indexes older texts, so some may be missing.
        </p>
      )}
      {q === undefined ? (
        <Empty title="Type words to search for.">
          A text is found if it has all the words. The last may be the beginning of a word.
        </Empty>
      ) : list.isPending ? (
        <SkeletonRows count={8} label="results" />
      ) : list.isError && results.length === 0 ? (
        <Failure error={list.error} what="The search" retry={() => void list.refetch()} />
      ) : results.length === 0 ? (
        <Empty title="Nothing has all these words.">
          {kind !== undefined && <Button onPress={() => setSearch({ q })}>Search everywhere</Button>}
        </Empty>
      ) : (
        <VirtualTable
          rows={results}
          keyOf={(found) =>
            [found.kind, found.review_id, found.issue_id ?? found.message_id ?? found.verdict_id ?? ""].join(" ")
          }
          rowPx={72}
          words={WORDS}
          total={null}
          next={{
            has: list.hasNextPage,
            isLoading: list.isFetchingNextPage,
            error: list.isFetchNextPageError ? list.error : null,
            load: () => void list.fetchNextPage({ cancelRefetch: false }),
          }}
        >
          {(found) => <ResultRow found={found} />}
        </VirtualTable>
      )}
    </Page>
  );
}

function useResults({ q = "", in: kind, project }: TextSearch) {
  const args = { q, ...(kind !== undefined && { kinds: [kind] }), ...(project !== undefined && { project }) };
  return useInfiniteQuery({
    queryKey: keys.search(args),
    queryFn: ({ pageParam, signal }) => call("search", { ...args, limit: PAGE_SIZE, cursor: pageParam }, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor,
    enabled: q !== "",
    // Events do not name it, so a search that is made again is asked again.
    staleTime: 0,
    refetchOnMount: "always",
  });
}
