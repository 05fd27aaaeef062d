import type { ConfigFile } from "../../api/generated";
import { Name } from "../../text/UserText";
import { LAYERS } from "./model";

/** The files that the broker reads. */
export function SettingFiles({ files }: { files: readonly ConfigFile[] }) {
  return (
    <ul className="flex flex-col gap-1">
      {files.map(({ layer, path, exists }) => (
        <li key={layer} className="flex flex-wrap gap-x-3">
          <Name className="font-mono">{path}</Name>
          <span className="text-dim">
            {LAYERS[layer]}
            {!exists && ", does not exist"}
          </span>
        </li>
      ))}
    </ul>
  );
}
