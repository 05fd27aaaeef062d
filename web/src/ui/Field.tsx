import type { ReactNode, Ref } from "react";
import { Input, Label, Text, TextArea, TextField } from "react-aria-components";

interface FieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  /** What is wrong with the value, beside the field. */
  error?: string | null;
  hint?: ReactNode;
  isMultiline?: boolean;
  rows?: number;
  isRequired?: boolean;
  isLabelHidden?: boolean;
  placeholder?: string;
  autoFocus?: boolean;
  inputRef?: Ref<HTMLTextAreaElement>;
}

/** A labelled input of text. */
export function Field(props: FieldProps) {
  const { label, value, onChange, error = null, hint, isMultiline = false, rows = 4, isRequired = false } = props;
  const box =
    "w-full rounded border border-line-strong bg-bg px-2 py-1 text-sm placeholder:text-dim data-[invalid]:border-bad";
  return (
    <TextField
      value={value}
      onChange={onChange}
      isInvalid={error !== null}
      // The browser would not send a form with an error that the broker named.
      validationBehavior="aria"
      isRequired={isRequired}
      autoFocus={props.autoFocus ?? false}
      className="flex flex-col gap-1"
    >
      <Label className={props.isLabelHidden ? "sr-only" : "font-medium"}>{label}</Label>
      {isMultiline ? (
        <TextArea
          ref={props.inputRef}
          rows={rows}
          placeholder={props.placeholder ?? ""}
          className={`${box} resize-y`}
        />
      ) : (
        <Input placeholder={props.placeholder ?? ""} className={box} />
      )}
      {hint !== undefined && (
        <Text slot="description" className="text-xs text-dim">
          {hint}
        </Text>
      )}
      {error !== null && (
        <Text slot="errorMessage" className="text-xs text-bad">
          {error}
        </Text>
      )}
    </TextField>
  );
}
