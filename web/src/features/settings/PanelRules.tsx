import type { Setting } from "../../api/generated";
import { cliLines } from "../../cliLines";
import { Name } from "../../text/UserText";
import { CliLine } from "../../ui/CliLine";
import { panelRules, valueWords } from "./model";

/** The default personas and the rules that add others, in sentences. */
export function PanelRules({ settings }: { settings: readonly Setting[] }) {
  const value = (name: string) => settings.find((setting) => setting.name === name)?.value;
  const rules = panelRules(value("panel.rules"));
  return (
    <div className="flex flex-col items-start gap-2">
      <p>
        By default: <Name className="font-medium">{valueWords(value("panel.personas") ?? [])}</Name>
      </p>
      {rules.length === 0 ? (
        <p className="text-dim">No rule adds others.</p>
      ) : (
        <ol className="list-decimal pl-5">
          {rules.map(({ personas, when, remarks }) => (
            <li key={`${when} ${personas.join(" ")}`}>
              <Name className="font-medium">{personas.join(", ")}</Name> if <Name>{when}</Name>
              {remarks.length > 0 && <span className="text-dim">; {remarks.join(", ")}</span>}
            </li>
          ))}
        </ol>
      )}
      <CliLine line={cliLines.personas()} />
    </div>
  );
}
