import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { call } from "../../api/client";
import { useLiveSocket } from "../../live/LiveContext";
import { useMe } from "../../me";
import { Button } from "../../ui/Button";
import { Refusal } from "../../ui/Failure";

export function SignOut() {
  const queries = useQueryClient();
  const live = useLiveSocket();
  const navigate = useNavigate();
  const { whoami } = useMe();
  const signOut = useMutation({
    mutationFn: () => call("delete_session", {}),
    onSuccess: async () => {
      if (whoami?.token_required === true) await navigate({ to: "/sign-in" });
      live.signedOut();
      await queries.resetQueries();
    },
  });
  return (
    <div className="flex flex-col items-start gap-2">
      <Button onPress={() => signOut.mutate()} isSending={signOut.isPending}>
        Sign out
      </Button>
      <Refusal error={signOut.error} />
    </div>
  );
}
