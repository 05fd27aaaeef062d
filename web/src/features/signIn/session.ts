/** Signing in and out. The broker keeps the session in a cookie that scripts cannot read. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { call } from "../../api/client";

/** A one-time code of `countersign open`, or a token. The token is not kept on this side. */
export type Proof = { code: string } | { token: string };

/** Signs in, forgets what the page knew before, and goes to `next`. */
export function useSignIn(next: string) {
  const queries = useQueryClient();
  const { history } = useRouter();
  return useMutation({
    mutationFn: (proof: Proof) => call("create_session", proof),
    onSuccess: async () => {
      await queries.resetQueries();
      history.replace(next);
    },
  });
}
