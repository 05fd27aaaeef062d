import { Field } from "../../ui/Field";
import { Fold } from "../../ui/Fold";
import { SEVERITIES } from "../../ui/Status";
import { Choice } from "./Choice";
import type { KeptDraft } from "./drafts";

const SEVERITY_OPTIONS = [
  { key: "critical", label: "■ critical: must not land" },
  { key: "high", label: "▲ high: a real fault that users will meet" },
  { key: "medium", label: "● medium: should be fixed" },
  { key: "low", label: "○ low: a nit" },
  { key: "suggestion", label: "suggestion: never blocks" },
];

/** The fields of a finding that is being written. */
export function FindingFields({ draft, change }: { draft: KeptDraft; change: (part: Partial<KeptDraft>) => void }) {
  return (
    <>
      <Choice
        label="Severity"
        value={draft.severity}
        options={SEVERITY_OPTIONS}
        onChange={(key) => change({ severity: SEVERITIES.find((one) => one === key) ?? "suggestion" })}
      />
      <Field
        label="Title"
        value={draft.title}
        onChange={(title) => change({ title })}
        placeholder="The problem in one line"
        autoFocus
      />
      <Field
        label="What happens, when, and why it matters"
        value={draft.text}
        onChange={(text) => change({ text })}
        isMultiline
        rows={3}
      />
      <Fold title={<span className="text-dim">Suggest other lines</span>} isOpenFirst={draft.suggestion !== ""}>
        <Field
          label="What to write instead"
          isLabelHidden
          value={draft.suggestion}
          onChange={(suggestion) => change({ suggestion })}
          isMultiline
          rows={3}
        />
      </Fold>
    </>
  );
}
