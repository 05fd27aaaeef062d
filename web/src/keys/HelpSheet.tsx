import { Dialog } from "../ui/Dialog";
import { allBindings, type Binding, display, type Scope } from "./bindings";

const SCOPES: Record<Scope, string> = {
  everywhere: "Everywhere",
  list: "Lists",
  review: "Review",
  pool: "Reviewers",
  log: "Log of a reviewer",
  actors: "Actors",
};

export function HelpSheet({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <Dialog title="Keys" isOpen={isOpen} onClose={onClose} isWide>
      <div className="columns-1 gap-8 md:columns-2">
        {(Object.keys(SCOPES) as Scope[]).map((scope) => (
          <section key={scope} className="mb-4 break-inside-avoid">
            <h3 className="mb-2 font-semibold">{SCOPES[scope]}</h3>
            <dl>
              {helpRows(scope).map(({ keys, label }) => (
                <div key={label} className="flex justify-between gap-4 border-b border-line py-1">
                  <dt>{label}</dt>
                  <dd className="whitespace-nowrap text-dim">
                    {keys.map((key) => (
                      <kbd key={key} className="ml-1 rounded-sm border border-line bg-raised px-1">
                        {display(key)}
                      </kbd>
                    ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p className="mt-2 text-dim">Single keys can be switched off in Preferences. Every key is also a button.</p>
    </Dialog>
  );
}

/** The rows of a scope. The nine keys of the rounds are one row. */
function helpRows(scope: Scope): { keys: readonly string[]; label: string }[] {
  const all: [string, Binding][] = Object.entries(allBindings);
  const rows = all
    .filter(([action, binding]) => binding.scope === scope && !action.startsWith("round"))
    .map(([, { keys, label }]) => ({ keys, label }));
  return scope === "review" ? [...rows, { keys: ["1", "…", "9"], label: "Show that round" }] : rows;
}
