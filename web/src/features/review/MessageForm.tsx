import type { Ref } from "react";
import type { MessageAnchor } from "../../api/generated";
import { formKeys } from "../../keys/formKeys";
import { Button } from "../../ui/Button";
import { Field } from "../../ui/Field";
import { useDraftText } from "./drafts";
import { SendRow } from "./SendRow";
import { useMessage } from "./useMessage";

interface MessageFormProps {
  /** The name of the draft. */
  name: string;
  label: string;
  anchor?: MessageAnchor;
  /** The seat that the message is about, if it is about one. */
  persona?: string;
  isFocusedFirst?: boolean;
  onClose?: () => void;
  onSent?: () => void;
  inputRef?: Ref<HTMLTextAreaElement>;
}

/** Writes a message. What was typed survives a reload. */
export function MessageForm(props: MessageFormProps) {
  const [text, setText] = useDraftText(props.name);
  const message = useMessage(props.anchor ?? null, props.persona ?? null, () => {
    setText("");
    props.onSent?.();
    props.onClose?.();
  });
  const body = text.trim();
  const send = () => body !== "" && message.whyNot === null && message.send(body);
  // A form that stays gives the keys of the page back. Tab goes on from here.
  const leave = () => document.activeElement instanceof HTMLElement && document.activeElement.blur();
  if (message.chosen === null) return null;
  return (
    <form aria-label={props.label} className="flex flex-col gap-2" {...formKeys(send, props.onClose ?? leave)}>
      <Field
        label={props.label}
        isLabelHidden
        placeholder={`${props.label}…`}
        value={text}
        onChange={setText}
        isMultiline
        rows={3}
        autoFocus={props.isFocusedFirst ?? false}
        {...(props.inputRef !== undefined && { inputRef: props.inputRef })}
      />
      <SendRow message={message} body={body}>
        {props.onClose !== undefined && (
          <Button kind="quiet" onPress={props.onClose}>
            {body === "" ? "Close" : "Close, keep the text"}
          </Button>
        )}
      </SendRow>
    </form>
  );
}
