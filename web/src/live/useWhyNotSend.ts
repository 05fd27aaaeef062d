import { useLive } from "./LiveContext";

/** Why nothing can be sent now. `null`: it can. */
export function useWhyNotSend(): string | null {
  const { state } = useLive();
  if (state === "offline")
    return "The broker does not answer. What you wrote is kept; send it when the broker is back.";
  if (state === "signed_out") return "You are signed out. What you wrote is kept; sign in and send it.";
  return null;
}
