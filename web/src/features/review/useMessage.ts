import { useState } from "react";
import { call } from "../../api/client";
import type { MessageAnchor } from "../../api/generated";
import { useWhyNotSend } from "../../live/useWhyNotSend";
import { type Send, useSend } from "./actions";
import { type RecipientChoice, recipients } from "./model";
import { useReview } from "./ReviewContext";

export interface NewMessage extends Omit<Send<string, unknown>, "result"> {
  choices: readonly RecipientChoice[];
  /** `null` if the person may not write. */
  chosen: RecipientChoice | null;
  choose: (key: string) => void;
  /** Why nothing can be sent now. */
  whyNot: string | null;
}

/** A message that the person writes: to whom, and how it is sent. `persona`: the seat that it is about. */
export function useMessage(anchor: MessageAnchor | null, persona: string | null, onSent: () => void): NewMessage {
  const { id, review, me } = useReview();
  const [key, choose] = useState<string | null>(null);
  const choices = recipients(review, me);
  const preferred = persona === null ? undefined : choices.find(({ args }) => args.persona === persona);
  const chosen = choices.find((choice) => choice.key === key) ?? preferred ?? choices[0] ?? null;
  const whyNot = useWhyNotSend();
  const { send, isSending, error } = useSend((body: string) => {
    const about = anchor === null ? {} : { anchor };
    return call("add_message", { review_id: id, body, caller_id: me.name, ...chosen?.args, ...about });
  }, onSent);
  return { choices, chosen, choose, whyNot, send, isSending, error };
}
