import { useQuery } from "@tanstack/react-query";
import type { Webhook } from "../../api/generated";
import { cliLines } from "../../cliLines";
import { useMe } from "../../me";
import { Name } from "../../text/UserText";
import { CliLine } from "../../ui/CliLine";
import { Empty } from "../../ui/Empty";
import { Failure } from "../../ui/Failure";
import { SkeletonRows } from "../../ui/Skeleton";
import { Chip } from "../../ui/Status";
import { Time } from "../../ui/Time";
import { DeadDeliveries } from "./DeadDeliveries";
import { webhooks } from "./queries";

/** The webhooks, how far each has been delivered to, and what is wrong. */
export function WebhookList() {
  const { whoami } = useMe();
  const { data, isPending, isError, error, refetch } = useQuery({ ...webhooks(), enabled: whoami !== null });
  if (isPending) return <SkeletonRows count={2} label="the webhooks" />;
  if (isError && data === undefined) return <Failure error={error} what="The webhooks" retry={() => void refetch()} />;
  if (data.webhooks.length === 0) {
    return (
      <Empty title="No webhook is set up." cli={cliLines.configEdit()}>
        A receiver is a table [[webhooks.receivers]] with a name and a URL.
      </Empty>
    );
  }
  return (
    <>
      <ul className="flex flex-col gap-3">
        {data.webhooks.map((webhook) => (
          <li key={webhook.name}>
            <WebhookCard webhook={webhook} />
          </li>
        ))}
      </ul>
      <div>
        <CliLine line={cliLines.webhooksList()} />
      </div>
    </>
  );
}

function WebhookCard({ webhook }: { webhook: Webhook }) {
  const { name, url, events, project, cursor, lag, dead, last_delivery, last_error, failing } = webhook;
  return (
    <article aria-label={`Webhook ${name}`} className="flex flex-col gap-2 rounded border border-line px-3 py-2">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Name className="font-semibold">{name}</Name>
        <State webhook={webhook} />
        {url !== undefined && <Name className="font-mono text-xs text-dim">{url}</Name>}
      </header>
      <p className="text-xs text-dim">
        <Name>{events.length === 0 ? "all events" : events.join(", ")}</Name>
        {project !== undefined && (
          <>
            {" "}
            of <Name>{project}</Name>
          </>
        )}
        {" · "}delivered up to event {cursor}
        {lag > 0 && `, ${lag} behind`}
        {last_delivery !== undefined && (
          <>
            {" · "}last delivery <Time at={last_delivery} />
          </>
        )}
      </p>
      {failing !== undefined && (
        <p className="text-warn">
          Event {failing.seq} is being retried, {failing.attempts} {failing.attempts === 1 ? "attempt" : "attempts"} so
          far
        </p>
      )}
      {last_error !== undefined && (
        <p className="text-xs text-dim">
          Last error: <Name>{last_error}</Name>
        </p>
      )}
      {dead > 0 && <DeadDeliveries webhook={name} count={dead} />}
    </article>
  );
}

function State({ webhook: { configured, failing, dead } }: { webhook: Webhook }) {
  if (!configured) return <Chip glyph="□" word="not configured" colours="bg-raised text-dim" />;
  if (failing !== undefined) return <Chip glyph="▲" word="failing" colours="bg-warn-bg text-warn" />;
  if (dead > 0) return <Chip glyph="✗" word={`${dead} not delivered`} colours="bg-bad-bg text-bad" />;
  return <Chip glyph="✓" word="ok" colours="bg-ok-bg text-ok" />;
}
