import { Refused } from "../api/client";
import { inert } from "../text/inert";
import { Button } from "./Button";

/** What failed, why, and a way to try again. */
export function Failure({ error, what, retry }: { error: unknown; what: string; retry?: () => void }) {
  return (
    <div role="alert" className="rounded border border-bad bg-bad-bg p-4">
      <p className="font-medium text-bad">{what} could not be loaded.</p>
      <Reason error={error} />
      {retry !== undefined && (
        <Button onPress={retry} className="mt-3">
          Try again
        </Button>
      )}
    </div>
  );
}

/** A refusal beside the button that caused it. */
export function Refusal({ error }: { error: unknown }) {
  if (error === null || error === undefined) return null;
  return (
    <div role="alert" className="rounded bg-bad-bg px-3 py-2 text-bad">
      <Reason error={error} />
    </div>
  );
}

function Reason({ error }: { error: unknown }) {
  const detail = error instanceof Error ? error.message : String(error);
  const code = error instanceof Refused ? error.problem.code : null;
  const trace = error instanceof Refused ? error.traceId : null;
  return (
    <>
      <p className="break-words">{inert(detail)}</p>
      {code !== null && (
        <p className="mt-1 text-xs">
          {inert(code)}
          {trace !== null && ` · trace ${inert(trace)}`}
        </p>
      )}
    </>
  );
}
