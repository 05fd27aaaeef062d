import { lazy, Suspense, useEffect, useState } from "react";
import { keyOf } from "../keys/bindings";
import { useKeys } from "../keys/KeysContext";
import { useStored } from "../storage";
import { Name } from "../text/UserText";
import { Button } from "./Button";
import { Press } from "./Press";
import { isSameView, isSavedViews, MAX_VIEWS, type SavedView, textsOf, withView } from "./savedViewsModel";

/** Loaded when there is something to save: most visits do not need a dialog. */
const loadDialog = () => import("./ViewNameDialog");
const NameDialog = lazy(() => loadDialog().then(({ ViewNameDialog }) => ({ default: ViewNameDialog })));

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
  // It is there before a person types into it. If it cannot be loaded, opening it says so.
  useEffect(() => {
    if (canSave) loadDialog().catch(() => {});
  }, [canSave]);
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
        <Suspense fallback={null}>
          <NameDialog
            views={views}
            onClose={() => setNaming(false)}
            onSave={(name) => {
              setViews(withView(views, { name, search: { ...search } }));
              setNaming(false);
            }}
          />
        </Suspense>
      )}
    </section>
  );
}
