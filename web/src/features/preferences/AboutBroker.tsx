import type { Whoami } from "../../api/generated";
import { Name } from "../../text/UserText";

const AUTHORITIES = { proposer: "proposer", reviewer: "reviewer", operator: "operator" };

/** Which broker answers, and what the person may do there. */
export function AboutBroker({ whoami }: { whoami: Whoami }) {
  const rows: [string, string][] = [
    ["Role", whoami.authority === null ? "local operator, no token required" : AUTHORITIES[whoami.authority]],
    ["Projects", whoami.projects === null ? "all" : whoami.projects.join(", ")],
    ["Build", whoami.build],
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
        <a href="/api/v1/docs">Documentation of the API</a>
      </p>
    </>
  );
}
