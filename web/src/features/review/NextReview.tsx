import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { Verdict } from "../../api/generated";
import { keyOf } from "../../keys/bindings";
import { useKeys } from "../../keys/KeysContext";
import { Name } from "../../text/UserText";
import { Button } from "../../ui/Button";
import { KeyHint } from "../../ui/KeyHint";
import { verdictWord } from "../../ui/Status";
import { nextForMe } from "./queries";
import { useReview } from "./ReviewContext";

/** After a verdict: what was sent, and the next review that needs the reader. */
export function NextReview({ verdict, onClose }: { verdict: Verdict; onClose: () => void }) {
  const { id, me } = useReview();
  const { data } = useQuery(nextForMe(id, me.name, me.isOperator));
  const next = data?.[0];
  const navigate = useNavigate();
  const open = ({ number }: { number: string }) => void navigate({ to: "/r/$review", params: { review: number } });
  useKeys(next === undefined ? {} : { nextReview: () => open(next) });
  return (
    <div className="flex flex-wrap items-center gap-3 border-t border-ok bg-ok-bg px-4 py-2">
      <p role="status">
        <span aria-hidden="true">✓ </span>
        Your verdict was sent: {verdictWord(verdict)}.
      </p>
      {next !== undefined && (
        <>
          <Link to="/r/$review" params={{ review: next.number }} className="min-w-0 font-medium">
            Next: {next.number} <Name>{next.intent}</Name>
          </Link>
          <KeyHint keys={keyOf("nextReview")} />
        </>
      )}
      {data !== undefined && next === undefined && (
        <p>
          Nothing else needs you. <Link to="/">Go to the inbox</Link>
        </p>
      )}
      {data !== undefined && data.length > 1 && <span className="text-dim">and {data.length - 1} more</span>}
      <span className="grow" />
      <Button kind="quiet" onPress={onClose}>
        Dismiss
      </Button>
    </div>
  );
}
