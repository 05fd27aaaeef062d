import { useQuery } from "@tanstack/react-query";
import { cliLines } from "../../cliLines";
import { useMe } from "../../me";
import { personas } from "../../personas";
import { Name, UserText } from "../../text/UserText";
import { CliLine } from "../../ui/CliLine";
import { Failure } from "../../ui/Failure";
import { Fold } from "../../ui/Fold";
import { SkeletonRows } from "../../ui/Skeleton";
import { limitsOf, modeWords } from "./personas";

/** Whom reviewers act as: what each persona looks for, how its seats are reviewed, and its prompt. */
export function PersonaList() {
  const { whoami } = useMe();
  const query = useQuery({ ...personas(), enabled: whoami !== null });
  return (
    <section className="flex flex-col gap-2">
      <h2 className="font-semibold">Personas</h2>
      {query.data === undefined ? (
        query.isError ? (
          <Failure error={query.error} what="The personas" retry={() => void query.refetch()} />
        ) : (
          <SkeletonRows count={4} label="personas" />
        )
      ) : (
        <ul className="rounded border border-line">
          {query.data.personas.map((persona) => (
            <li key={persona.name} className="flex flex-col gap-1 border-b border-line px-3 py-2 last:border-b-0">
              <p>
                <Name className="font-semibold">{persona.name}</Name> <Name>{persona.focus}</Name>
              </p>
              <p className="text-xs text-dim">
                <Name>{[modeWords(persona), limitsOf(persona)].filter((each) => each !== "").join(" · ")}</Name>
              </p>
              <Fold title="Its prompt">
                {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
                <div tabIndex={0} className="max-h-80 overflow-auto rounded border border-line bg-raised p-2 text-xs">
                  <UserText text={persona.prompt} />
                </div>
              </Fold>
            </li>
          ))}
        </ul>
      )}
      <CliLine line={cliLines.personas()} />
    </section>
  );
}
