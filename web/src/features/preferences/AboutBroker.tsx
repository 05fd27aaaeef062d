import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Whoami } from "../../api/generated";
import { Name } from "../../text/UserText";

/** The health check is not an operation of the API; it names the version. */
const brokerVersion = () =>
  queryOptions({
    queryKey: ["version"],
    queryFn: async ({ signal }) => {
      const health: unknown = await (await fetch("/healthz", { signal })).json();
      const hasVersion = typeof health === "object" && health !== null && "version" in health;
      return hasVersion ? String(health.version) : "unknown";
    },
  });

const AUTHORITIES = { proposer: "proposer", reviewer: "reviewer", operator: "operator" };

/** Which broker answers, and what the person may do there. */
export function AboutBroker({ whoami }: { whoami: Whoami }) {
  const rows: [string, string][] = [
    ["Role", whoami.authority === null ? "local operator, no token required" : AUTHORITIES[whoami.authority]],
    ["Projects", whoami.projects === null ? "all" : whoami.projects.join(", ")],
    ["Version", useQuery(brokerVersion()).data ?? "unknown"],
    ["Build of the page", whoami.build],
    ["Database", whoami.database_id],
  ];
  return (
    <>
      <dl className="grid grid-cols-3 gap-x-4 gap-y-1">
        {rows.map(([name, value]) => (
          <div key={name} className="col-span-3 grid grid-cols-subgrid">
            <dt className="text-dim">{name}</dt>
            <dd className="col-span-2 break-words">
              <Name>{value}</Name>
            </dd>
          </div>
        ))}
      </dl>
      <p className="mt-3">
        <Link to="/api-docs">Documentation of the API</Link>
      </p>
    </>
  );
}
