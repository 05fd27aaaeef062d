import { useQuery } from "@tanstack/react-query";
import { cliLines } from "../../cliLines";
import { useMe } from "../../me";
import { Name } from "../../text/UserText";
import { CliLine } from "../../ui/CliLine";
import { Empty } from "../../ui/Empty";
import { Failure } from "../../ui/Failure";
import { SkeletonRows } from "../../ui/Skeleton";
import { projects } from "./queries";

/** The registered repositories. Only a command of the broker's own user can add or remove one. */
export function ProjectList() {
  const { whoami } = useMe();
  const { data, isPending, isError, error, refetch } = useQuery({ ...projects(), enabled: whoami !== null });
  if (isPending) return <SkeletonRows count={2} label="the projects" />;
  if (isError && data === undefined) return <Failure error={error} what="The projects" retry={() => void refetch()} />;
  if (data.projects.length === 0) {
    return (
      <Empty title="No repository is registered." cli={cliLines.projectAdd()}>
        Run this in a repository.
      </Empty>
    );
  }
  return (
    <>
      <ul className="divide-y divide-line rounded border border-line">
        {data.projects.map(({ name, root }) => (
          <li key={name} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-3 py-2">
            <Name className="font-medium">{name}</Name>
            {root !== undefined && <Name className="font-mono text-xs text-dim">{root}</Name>}
            <span className="grow" />
            <CliLine line={cliLines.projectRemove(name)} />
          </li>
        ))}
      </ul>
      <div>
        <CliLine line={cliLines.projectAdd()} />
      </div>
    </>
  );
}
