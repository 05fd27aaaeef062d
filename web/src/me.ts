/** Who uses the page: the identity of the token or, where none is required, a name that the person chose. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { type Answer, call } from "./api/client";
import { keys } from "./api/keys";
import { isString, useStored } from "./storage";

export const whoami = () =>
  queryOptions({ queryKey: keys.whoami, queryFn: ({ signal }) => call("whoami", {}, { signal }), staleTime: 60_000 });

/** Whether the broker takes other calls of this browser: it knows the caller, or asks for no token. */
export function isAdmitted(data: Answer<"whoami"> | null): boolean {
  return data !== null && !(data.token_required && data.authority === null);
}

export interface Me {
  /** The name that calls are made under. */
  name: string;
  /** The person has not confirmed the suggested name yet. */
  isSuggested: boolean;
  /** The name belongs to a token and cannot be changed here. */
  isFixed: boolean;
  /** May act for any party: settle issues, take seats over, write without a seat. */
  isOperator: boolean;
  setName: (name: string) => void;
  whoami: Answer<"whoami"> | null;
}

export function useMe(): Me {
  const { data = null } = useQuery(whoami());
  const [stored, setName] = useStored("name", isString, "");
  const tokenName = data?.name ?? null;
  return {
    // The broker may not know a name to suggest.
    name: tokenName ?? (stored || data?.suggested_name || "me"),
    isSuggested: tokenName === null && stored === "",
    isFixed: tokenName !== null,
    // Where no token is required, the broker trusts every local caller as an operator.
    isOperator: isAdmitted(data) && (data?.authority === "operator" || data?.authority === null),
    setName,
    whoami: isAdmitted(data) ? data : null,
  };
}
