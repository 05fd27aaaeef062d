import { type ReactNode, type Ref, useId } from "react";

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
  /** What is typed is not shown, not kept and not checked for spelling. */
  isSecret?: boolean;
  placeholder?: string;
  autoFocus?: boolean;
  inputRef?: Ref<HTMLTextAreaElement>;
}

const box =
  "w-full rounded border border-line-strong bg-bg px-2 py-1 text-sm placeholder:text-dim aria-invalid:border-bad";

/** A labelled input of text. */
export function Field(props: FieldProps) {
  const { label, value, onChange, error = null, hint, isMultiline = false, rows = 4, isSecret = false } = props;
  const id = useId();
  const described = [hint !== undefined && `${id}-hint`, error !== null && `${id}-error`].filter(Boolean).join(" ");
  const input = {
    id,
    value,
    placeholder: props.placeholder,
    autoFocus: props.autoFocus,
    // Said to readers only: the browser would not send a form with an error that the broker named.
    "aria-required": props.isRequired || undefined,
    "aria-invalid": error !== null || undefined,
    "aria-describedby": described === "" ? undefined : described,
    onChange: ({ target }: { target: { value: string } }) => onChange(target.value),
  };
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className={props.isLabelHidden ? "sr-only" : "font-medium"}>
        {label}
      </label>
      {isMultiline ? (
        <textarea {...input} ref={props.inputRef} rows={rows} className={`${box} resize-y`} />
      ) : isSecret ? (
        <input {...input} type="password" autoComplete="off" spellCheck="false" className={`${box} font-mono`} />
      ) : (
        <input {...input} type="text" className={box} />
      )}
      {hint !== undefined && (
        <span id={`${id}-hint`} className="text-xs text-dim">
          {hint}
        </span>
      )}
      {error !== null && (
        <span id={`${id}-error`} className="text-xs text-bad">
          {error}
        </span>
      )}
    </div>
  );
}
