import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { Empty } from "../../ui/Empty";
import { Failure } from "../../ui/Failure";
import { Find } from "../../ui/Find";
import { Page } from "../../ui/Page";
import { SkeletonRows } from "../../ui/Skeleton";
import { byNoun } from "./model";
import { OperationCard } from "./OperationCard";
import { apiDocument } from "./queries";

const route = getRouteApi("/api-docs");

/** Every operation of the REST API: arguments, types, examples, and a form to try those that only read. */
export function ApiDocsPage() {
  const { q, op } = route.useSearch();
  const navigate = route.useNavigate();
  // A link to an operation leads to it; one that is opened here stays where it is.
  const [first] = useState(op);
  const { data, isPending, isError, error, refetch } = useQuery(apiDocument());
  const setQuery = (text: string) => {
    const search = { ...(text !== "" && { q: text }), ...(op !== undefined && { op }) };
    void navigate({ search, replace: true, resetScroll: false });
  };
  const groups = byNoun(data?.operations ?? [], q);
  return (
    <Page title="REST API">
      <p className="text-dim">
        The same operations, rules and names as the tools of agents. The document is{" "}
        <a href="/api/v1/openapi.json">openapi.json</a>.
      </p>
      {isPending ? (
        <SkeletonRows count={12} label="the operations" />
      ) : isError && data === undefined ? (
        <Failure error={error} what="The documentation" retry={() => void refetch()} />
      ) : (
        <>
          <Find label="Find an operation" value={q ?? ""} onChange={setQuery} />
          {groups.length === 0 && <Empty title="No operation matches." />}
          {groups.map(([noun, operations]) => (
            <section key={noun} aria-label={noun} className="flex flex-col gap-1">
              <h2 className="text-base font-semibold">{noun.replaceAll("-", " ")}</h2>
              {operations.map((operation) => (
                <OperationCard
                  key={operation.id}
                  operation={operation}
                  types={data?.types ?? {}}
                  isOpen={operation.id === op}
                  isFirst={operation.id === first}
                  onOpen={(isOpen) => {
                    const search = { ...(q !== undefined && { q }), ...(isOpen && { op: operation.id }) };
                    void navigate({ search, replace: true, resetScroll: false });
                  }}
                />
              ))}
            </section>
          ))}
        </>
      )}
    </Page>
  );
}
