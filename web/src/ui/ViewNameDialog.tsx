import { useState } from "react";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { Field } from "./Field";
import { nameProblem, type SavedView } from "./savedViewsModel";

interface ViewNameDialogProps {
  views: readonly SavedView[];
  onClose: () => void;
  onSave: (name: string) => void;
}

/** Asks for the name of a view. */
export function ViewNameDialog({ views, onClose, onSave }: ViewNameDialogProps) {
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
