import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../../api/client";
import { keys } from "../../api/keys";
import { useMe } from "../../me";
import { personas } from "../../personas";
import { Choice } from "../../ui/Choice";
import { useChange } from "./actions";
import { PoolDialog } from "./PoolDialog";
import { hasOwnAgents } from "./personas";

/** Starts one more reviewer by hand. */
export function SpawnDialog({ onClose }: { onClose: () => void }) {
  const me = useMe();
  const [project, setProject] = useState("");
  const [persona, setPersona] = useState("");
  const { data: known } = useQuery({
    queryKey: keys.projects,
    queryFn: ({ signal }) => call("list_projects", {}, { signal }),
  });
  const { data: all } = useQuery(personas());
  const projects = known?.projects.map(({ name }) => ({ value: name, label: name })) ?? [];
  const own = all?.personas.filter(hasOwnAgents).map(({ name }) => ({ value: name, label: name })) ?? [];
  const change = useChange<void>(
    () =>
      call("spawn_reviewer", {
        project: project === "" ? undefined : project,
        persona: persona === "" ? undefined : persona,
        caller_id: me.name,
      }),
    onClose,
  );
  return (
    <PoolDialog title="Start a reviewer" action="Start it" change={change} onClose={onClose}>
      <p>The pool starts reviewers by itself when reviews wait. One that you start also ends a crash loop.</p>
      {projects.length > 1 && <Choice label="Project" value={project} options={projects} onChange={setProject} />}
      {own.length > 0 ? (
        <Choice label="Only for seats of" value={persona} options={own} onChange={setPersona} />
      ) : (
        <p className="text-xs text-dim">No persona has agents of its own, so it takes any free seat.</p>
      )}
    </PoolDialog>
  );
}
