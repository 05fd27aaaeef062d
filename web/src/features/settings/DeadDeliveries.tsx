import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../../api/client";
import type { DeadDelivery } from "../../api/generated";
import { keys } from "../../api/keys";
import { cliLines } from "../../cliLines";
import { Name } from "../../text/UserText";
import { Button } from "../../ui/Button";
import { CliLine } from "../../ui/CliLine";
import { Dialog } from "../../ui/Dialog";
import { Failure, Refusal } from "../../ui/Failure";
import { SkeletonRows } from "../../ui/Skeleton";
import { Time } from "../../ui/Time";
import { deadDeliveries } from "./queries";

type Act = "redeliver" | "drop_dead_deliveries";
/** `seqs: null` means all of them. */
interface Order {
  act: Act;
  seqs: number[] | null;
}

/** Events that a webhook did not accept: send them again, or drop them. */
export function DeadDeliveries({ webhook, count }: { webhook: string; count: number }) {
  const queries = useQueryClient();
  const [asked, setAsked] = useState<Order | null>(null);
  const { data, isPending, isError, error, refetch } = useQuery(deadDeliveries(webhook));
  const order = useMutation({
    mutationFn: ({ act, seqs }: Order) => {
      const args = { webhook, ...(seqs === null ? { all: true as const } : { seqs }) };
      return act === "redeliver" ? call("redeliver", args) : call("drop_dead_deliveries", args);
    },
    onSuccess: () => setAsked(null),
    onSettled: () => void queries.invalidateQueries({ queryKey: keys.webhooks }),
  });
  if (isPending) return <SkeletonRows count={3} label="the events that were not delivered" />;
  if (isError && data === undefined) {
    return <Failure error={error} what="The events that were not delivered" retry={() => void refetch()} />;
  }
  const rest = count - data.dead.length;
  return (
    <section aria-label={`Not delivered to ${webhook}`} className="flex flex-col gap-2">
      <ul className="divide-y divide-line border-y border-line">
        {data.dead.map((delivery) => (
          <Delivery
            key={delivery.seq}
            delivery={delivery}
            isSending={order.isPending}
            onOrder={(act) => {
              const one = { act, seqs: [delivery.seq] };
              if (act === "redeliver") order.mutate(one);
              else setAsked(one);
            }}
          />
        ))}
      </ul>
      {rest > 0 && <p className="text-dim">and {rest} later ones</p>}
      {asked === null && <Refusal error={order.error} />}
      <div className="flex flex-wrap items-center gap-2">
        <Button isSending={order.isPending} onPress={() => order.mutate({ act: "redeliver", seqs: null })}>
          Send all again
        </Button>
        <Button kind="danger" onPress={() => setAsked({ act: "drop_dead_deliveries", seqs: null })}>
          Drop all…
        </Button>
        <span className="grow" />
        <CliLine line={cliLines.webhooksRedeliver(webhook)} />
      </div>
      <Dialog title="Drop deliveries" isOpen={asked !== null} onClose={() => setAsked(null)}>
        <div className="flex flex-col gap-3">
          <p>
            {asked?.seqs == null ? "All events" : `Event ${asked.seqs.join(", ")}`} that <Name>{webhook}</Name> did not
            accept will not be sent any more. The events stay in the log.
          </p>
          <Refusal error={order.error} />
          <div className="flex justify-end gap-2">
            <Button kind="quiet" onPress={() => setAsked(null)}>
              Close
            </Button>
            <Button kind="danger" isSending={order.isPending} onPress={() => asked !== null && order.mutate(asked)}>
              Drop
            </Button>
          </div>
        </div>
      </Dialog>
    </section>
  );
}

interface DeliveryProps {
  delivery: DeadDelivery;
  isSending: boolean;
  onOrder: (act: Act) => void;
}

function Delivery({
  delivery: { seq, kind, number, at, attempts, last_error, waiting },
  isSending,
  onOrder,
}: DeliveryProps) {
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 py-1">
      <span className="tabular-nums">event {seq}</span>
      <Name>{kind.replaceAll("_", " ")}</Name>
      {number !== undefined && <span>{number}</span>}
      <span className="text-xs text-dim">
        <Time at={at} />, {attempts} attempts: <Name>{last_error}</Name>
      </span>
      <span className="grow" />
      {waiting ? (
        <span className="text-dim">waits to be sent again</span>
      ) : (
        <span className="-mx-2 flex">
          <Button kind="quiet" isDisabled={isSending} onPress={() => onOrder("redeliver")}>
            Send again
          </Button>
          <Button kind="quiet" isDisabled={isSending} onPress={() => onOrder("drop_dead_deliveries")}>
            Drop…
          </Button>
        </span>
      )}
    </li>
  );
}
