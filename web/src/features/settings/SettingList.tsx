import { getRouteApi } from "@tanstack/react-router";
import type { Setting } from "../../api/generated";
import { cliLines } from "../../cliLines";
import { Name } from "../../text/UserText";
import { CliLine } from "../../ui/CliLine";
import { Empty } from "../../ui/Empty";
import { Find } from "../../ui/Find";
import { Fold } from "../../ui/Fold";
import { Switch } from "../../ui/Switch";
import { hasSecret, LAYERS, sectionsOf, valueArgument, valueWords } from "./model";
import type { SettingsSearch } from "./search";

const route = getRouteApi("/settings");

/** All settings by section, with a search over names, values and descriptions. */
export function SettingList({ settings }: { settings: readonly Setting[] }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const setSearch = (next: SettingsSearch) => void navigate({ search: next, replace: true, resetScroll: false });
  const { q, ...rest } = search;
  const sections = sectionsOf(settings, search);
  const isFiltered = q !== undefined || search.changed === true;
  return (
    <>
      <div className="flex flex-wrap items-center gap-4">
        <Find
          label="Find a setting"
          value={q ?? ""}
          onChange={(text) => setSearch(text === "" ? rest : { ...rest, q: text })}
        />
        <Switch
          isSelected={search.changed === true}
          onChange={(isOn) => setSearch({ ...(q !== undefined && { q }), ...(isOn && { changed: true }) })}
        >
          Only changed
        </Switch>
      </div>
      {sections.length === 0 && (
        <Empty title={isFiltered ? "No setting matches." : "No setting is known."} cli={cliLines.configList()} />
      )}
      {sections.map((section) => (
        <div key={section.name} className="rounded border border-line">
          <h3 className="border-b border-line bg-raised px-3 py-1 font-mono text-xs font-semibold">
            [<Name>{section.name}</Name>]
          </h3>
          <ul className="divide-y divide-line">
            {section.settings.map((setting) => (
              <SettingRow key={setting.name} setting={setting} />
            ))}
          </ul>
        </div>
      ))}
    </>
  );
}

function SettingRow({ setting }: { setting: Setting }) {
  const { name, value, layer, source, description } = setting;
  const isDefault = layer === "default";
  return (
    <li className="grid gap-x-4 gap-y-1 px-3 py-2 md:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_12rem]">
      <Name className="font-mono font-medium">{name}</Name>
      <Name className={`font-mono ${isDefault ? "text-dim" : ""}`}>{valueWords(value)}</Name>
      <span className="min-w-0 text-xs">
        <span className={isDefault ? "text-dim" : "rounded bg-accent-bg px-2 py-1 font-medium text-accent"}>
          {LAYERS[layer]}
        </span>
        {source !== undefined && (
          <span className="mt-1 block text-dim">
            <Name>{source}</Name>
          </span>
        )}
      </span>
      <div className="min-w-0 text-xs text-dim md:col-span-3">
        <Fold title={<Name>{firstSentence(description ?? "What it does")}</Name>}>
          <Details setting={setting} />
        </Fold>
      </div>
    </li>
  );
}

/** The whole description, the default, and how to change it. */
function Details({ setting: { name, value, default: byDefault, description } }: { setting: Setting }) {
  const argument = hasSecret(value) ? null : valueArgument(value);
  return (
    <div className="flex flex-col items-start gap-2 pb-1 pl-4">
      {description !== undefined && <Name>{description}</Name>}
      {byDefault !== undefined && (
        <p>
          Default: <Name className="font-mono">{valueWords(byDefault)}</Name>
        </p>
      )}
      <CliLine line={argument === null ? cliLines.configEdit() : cliLines.configSet(name, argument)} />
    </div>
  );
}

function firstSentence(text: string): string {
  const end = text.search(/\. /);
  return end === -1 ? text : text.slice(0, end + 1);
}
