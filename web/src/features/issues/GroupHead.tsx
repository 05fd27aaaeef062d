import type { IssueGroup, Severity as SeverityName } from "../../api/generated";
import { rowAttribute } from "../../keys/useRowKeys";
import { Name } from "../../text/UserText";
import { Press } from "../../ui/Press";
import { Severity, SeverityCounts } from "../../ui/Status";
import type { Group } from "./search";

interface GroupHeadProps {
  by: Group;
  group: IssueGroup;
  isOpen: boolean;
  onToggle: () => void;
}

/** The heading of a group, with its counts. It opens and closes the group. */
export function GroupHead({ by, group, isOpen, onToggle }: GroupHeadProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows are placed by the virtual list, which elements of a table are not
    <span role="cell" className="block bg-raised">
      <Press
        aria-expanded={isOpen}
        onPress={onToggle}
        {...rowAttribute(`group ${group.group}`)}
        className="flex w-full flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2 text-left hover:bg-hover"
      >
        <span aria-hidden="true" className={`text-dim ${isOpen ? "rotate-90" : ""}`}>
          ▸
        </span>
        <span className="min-w-0 font-semibold break-all">
          <GroupName by={by} group={group} />
        </span>
        {group.intent !== undefined && <Name className="min-w-0 truncate text-dim">{group.intent}</Name>}
        <span className="grow" />
        {group.blocking > 0 && <span className="font-medium text-bad">■ {group.blocking} blocking</span>}
        <SeverityCounts counts={group.open_by_severity} />
        <span className="text-dim tabular-nums">
          {group.issues.toLocaleString("en")} {group.issues === 1 ? "issue" : "issues"}
        </span>
      </Press>
    </span>
  );
}

function GroupName({ by, group }: Pick<GroupHeadProps, "by" | "group">) {
  if (by === "severity") return <Severity severity={group.group as SeverityName} />;
  if (group.group === "") return by === "file" ? "without a file" : "none";
  return <Name>{group.group}</Name>;
}
