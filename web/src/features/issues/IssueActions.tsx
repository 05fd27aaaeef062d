import { useState } from "react";
import { addressOf } from "../../api/client";
import type { ExportFormat, Issue } from "../../api/generated";
import { keyOf } from "../../keys/bindings";
import { Button } from "../../ui/Button";
import { buttonLook } from "../../ui/buttonLook";
import { PromptDialog } from "./PromptDialog";
import { type IssuesSearch, shownFilterOf } from "./search";

interface IssueActionsProps {
  search: IssuesSearch;
  selected: readonly Issue[];
  /** The issues on display. */
  shown: readonly Issue[];
  onClear: () => void;
  onSettle: () => void;
}

/** What can be done with the selected issues, or with all on display. */
export function IssueActions({ search, selected, shown, onClear, onSettle }: IssueActionsProps) {
  const [isPrompting, setPrompting] = useState(false);
  const count = selected.length;
  return (
    <div className="flex flex-wrap items-center gap-2">
      {count > 0 && (
        <>
          <span role="status" className="font-medium">
            {count} selected
          </span>
          <Button kind="primary" shortcut={keyOf("settleRows")} onPress={onSettle}>
            Settle…
          </Button>
          <Button kind="quiet" onPress={onClear}>
            Clear the selection
          </Button>
        </>
      )}
      <div className="grow" />
      <Button isDisabled={shown.length === 0} onPress={() => setPrompting(true)}>
        Copy as prompt
      </Button>
      <Download search={search} format="sarif" label="SARIF" />
      <Download search={search} format="markdown" label="Markdown" />
      {isPrompting && <PromptDialog issues={count > 0 ? selected : shown} onClose={() => setPrompting(false)} />}
    </div>
  );
}

function Download({ search, format, label }: { search: IssuesSearch; format: ExportFormat; label: string }) {
  return (
    <a href={addressOf("export_issues", { ...shownFilterOf(search), format })} download className={buttonLook()}>
      <span className="sr-only">Download as </span>
      {label}
    </a>
  );
}
