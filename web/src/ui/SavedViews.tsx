import { useState } from "react";
import { keyOf } from "../keys/bindings";
import { useKeys } from "../keys/KeysContext";
import { useStored } from "../storage";
import { Name } from "../text/UserText";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { Field } from "./Field";
import { Press } from "./Press";
import { isSameView, isSavedViews, MAX_VIEWS, nameProblem, type SavedView, textsOf, withView } from "./savedViewsModel";

interface SavedViewsProps {
  /** The list that the views belong to. */
  list: string;
  /** The search parameters of the page. Those with a text are its filters. */
  search: object;
  onOpen: (search: Record<string, string>) => void;
}

/** Filters with a name, kept in this browser: one press shows them again. */
export function SavedViews({ list, search: parameters, onOpen }: SavedViewsProps) {
  const search = textsOf(parameters);
  const [views, setViews] = useStored<SavedView[]>(`views.${list}`, isSavedViews, []);
  const [isNaming, setNaming] = useState(false);
  const current = views.find((view) => isSameView(view.search, search));
  const canSave = Object.keys(search).length > 0 && current === undefined && views.length < MAX_VIEWS;
  useKeys(canSave ? { saveView: () => setNaming(true) } : {});
  if (views.length === 0 && !canSave) return null;
  return (
    <section aria-label="Saved views" className="flex flex-wrap items-center gap-1" data-print="hide">
      {views.map((view) => (
        <span
          key={view.name}
          className={`inline-flex items-center rounded border ${view === current ? "border-accent bg-accent-bg" : "border-line"}`}
        >
          <Press
            aria-current={view === current ? "true" : undefined}
            onPress={() => onOpen(view.search)}
            className="rounded px-2 py-1 hover:bg-hover"
          >
            <Name>{view.name}</Name>
          </Press>
          <Press
            aria-label={`Remove the view ${view.name}`}
            onPress={() => setViews(views.filter((each) => each !== view))}
            className="rounded px-2 py-1 text-dim hover:bg-hover hover:text-text"
          >
            ✕
          </Press>
        </span>
      ))}
      {canSave && (
        <Button kind="quiet" shortcut={keyOf("saveView")} onPress={() => setNaming(true)}>
          Save this view
        </Button>
      )}
      {isNaming && (
        <NameDialog
          views={views}
          onClose={() => setNaming(false)}
          onSave={(name) => {
            setViews(withView(views, { name, search: { ...search } }));
            setNaming(false);
          }}
        />
      )}
    </section>
  );
}

interface NameDialogProps {
  views: readonly SavedView[];
  onClose: () => void;
  onSave: (name: string) => void;
}

function NameDialog({ views, onClose, onSave }: NameDialogProps) {
  const [name, setName] = useState("");
  const [isTried, setTried] = useState(false);
  const problem = nameProblem(name);
  const isKnown = views.some((view) => view.name === name.trim());
  return (
    <Dialog title="Save this view" isOpen onClose={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          setTried(true);
          if (problem === null) onSave(name.trim());
        }}
      >
        <Field
          label="Name"
          value={name}
          onChange={setName}
          error={isTried ? problem : null}
          hint={isKnown ? "It replaces the view of this name." : "The filters are kept in this browser."}
          isRequired
          autoFocus
        />
        <div className="flex justify-end gap-2">
          <Button kind="quiet" onPress={onClose}>
            Close
          </Button>
          <Button kind="primary" type="submit">
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
