import { Button, Menu, MenuItem, MenuTrigger, Popover, Text } from "react-aria-components";
import { keyOf } from "../../keys/bindings";
import { inertLine } from "../../text/inert";
import { buttonLook } from "../../ui/buttonLook";
import { KeyHint } from "../../ui/KeyHint";
import { PAST } from "./model";
import type { OpenDialog, ReviewView } from "./ReviewContext";
import { useReview } from "./ReviewContext";

interface Item {
  id: string;
  label: string;
  /** `null`: allowed. A text says why not, and who may. */
  whyNot: string | null;
  dialog: OpenDialog;
}

function items({ can, moment, issues, review }: ReviewView): Item[] {
  const verdict = (id: string, label: string, of: "approved" | "changes_requested" | "rejected" | "comment"): Item => ({
    id,
    label,
    whyNot: can.vote,
    dialog: { kind: "verdict", verdict: of },
  });
  const persona = review.seats.find(({ has_counter_patch }) => has_counter_patch)?.persona ?? "";
  return [
    verdict("approve", "Approve…", "approved"),
    verdict("changes", "Request changes…", "changes_requested"),
    verdict("comment", "Send findings without a vote…", "comment"),
    verdict("reject", "Reject…", "rejected"),
    {
      id: "settle",
      label: "Settle a finding…",
      whyNot: moment.at !== null ? PAST : issues.some(({ status }) => status === "open") ? null : "No finding is open.",
      dialog: { kind: "settle", issueId: null, status: null },
    },
    { id: "take", label: "Take a seat…", whyNot: can.take_seat, dialog: { kind: "seat", how: "claim", persona: null } },
    { id: "release", label: "Give my seat back…", whyNot: can.release, dialog: { kind: "release" } },
    {
      id: "take_over",
      label: "Take over a seat…",
      whyNot: can.take_over,
      dialog: { kind: "seat", how: "take_over", persona: null },
    },
    { id: "add_seat", label: "Add a seat…", whyNot: can.add_seat, dialog: { kind: "add_seat" } },
    {
      id: "accept",
      label: "Accept the counter-patch…",
      whyNot: can.decide_patch,
      dialog: { kind: "patch", persona, answer: "accept" },
    },
    {
      id: "decline",
      label: "Reject the counter-patch…",
      whyNot: can.decide_patch,
      dialog: { kind: "patch", persona, answer: "reject" },
    },
    { id: "resubmit", label: "Submit a new round…", whyNot: can.resubmit, dialog: { kind: "resubmit" } },
    { id: "cancel", label: "Cancel the review…", whyNot: can.cancel, dialog: { kind: "cancel" } },
    { id: "close", label: "Close the review…", whyNot: can.close, dialog: { kind: "close" } },
  ];
}

/** All actions. Those that are not possible now say why. */
export function ActionMenu({ isOpen, onOpenChange }: { isOpen: boolean; onOpenChange: (isOpen: boolean) => void }) {
  const view = useReview();
  const all = items(view);
  return (
    <MenuTrigger isOpen={isOpen} onOpenChange={onOpenChange}>
      <Button aria-label="All actions" className={buttonLook()}>
        More
        <KeyHint keys={keyOf("actions")} />
      </Button>
      <Popover
        placement="top start"
        className="max-h-96 w-96 max-w-full overflow-y-auto rounded border border-line bg-bg shadow-dialog"
      >
        <Menu
          aria-label="All actions"
          className="p-1 outline-none"
          disabledKeys={all.filter(({ whyNot }) => whyNot !== null).map(({ id }) => id)}
          onAction={(key) => {
            const item = all.find(({ id }) => id === key);
            if (item !== undefined) view.openDialog(item.dialog);
          }}
        >
          {all.map(({ id, label, whyNot }) => (
            <MenuItem
              key={id}
              id={id}
              textValue={label}
              className="flex cursor-pointer flex-col rounded-sm px-2 py-1 outline-none data-disabled:cursor-default data-focused:bg-hover"
            >
              <Text slot="label" className={whyNot === null ? "" : "text-dim"}>
                {label}
              </Text>
              {whyNot !== null && (
                <Text slot="description" className="text-xs text-dim">
                  {inertLine(whyNot)}
                </Text>
              )}
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}
