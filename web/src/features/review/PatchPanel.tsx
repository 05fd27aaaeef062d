import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Name } from "../../text/UserText";
import { Banner } from "../../ui/Banner";
import { Button } from "../../ui/Button";
import { Failure } from "../../ui/Failure";
import { Options } from "../../ui/Options";
import { SkeletonRows } from "../../ui/Skeleton";
import { Diff } from "../diff/Diff";
import { parsePatch } from "../diff/patch";
import { useDiffPreferences } from "./diffPreferences";
import { counterPatch } from "./queries";
import { useReview } from "./ReviewContext";
import { type EventEntry, offeredPatch, patchFate } from "./stream";

/** The counter-patch of a seat as a diff, with accept and reject. */
export function PatchPanel({ persona }: { persona: string }) {
  const { shown, events, go } = useReview();
  const offer = offeredPatch(events, persona, shown.round) ?? offeredPatch(events, persona);
  if (offer === null) {
    return (
      <div className="p-4">
        <p>
          <Name>{persona}</Name> has offered no counter-patch.
        </p>
        <Button className="mt-2" onPress={() => go({ patch: undefined })}>
          Back to the proposal
        </Button>
      </div>
    );
  }
  return <OfferedPatch offer={offer} persona={persona} />;
}

function OfferedPatch({ offer, persona }: { offer: EventEntry; persona: string }) {
  const { id, moment, review, events, can, go, openDialog } = useReview();
  const { layout, wrap, words, view } = useDiffPreferences();
  const [from, setFrom] = useState<"round" | "base">("round");
  const { data, isError, error, refetch } = useQuery(counterPatch(moment, persona, offer.round, offer.version, from));
  const patch = useMemo(() => (data === undefined ? null : parsePatch(data.text)), [data]);
  const fate = patchFate(events, offer);
  const canDecide = fate === "pending" && offer.round === review.current_round && can.decide_patch === null;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <Banner
        tone="info"
        title={
          <Name>{`Counter-patch of ${offer.event.actor ?? "the reviewer"} (${persona}), round ${offer.round}: ${fate}`}</Name>
        }
        actions={
          <span className="flex flex-wrap gap-2">
            {canDecide && (
              <>
                <Button kind="primary" onPress={() => openDialog({ kind: "patch", persona, answer: "accept" })}>
                  Accept
                </Button>
                <Button onPress={() => openDialog({ kind: "patch", persona, answer: "reject" })}>Reject</Button>
              </>
            )}
            <Button onPress={() => go({ patch: undefined })}>Back to the proposal</Button>
          </span>
        }
      >
        <div className="flex flex-col gap-1">
          {fate === "pending" && can.decide_patch !== null && <p className="text-dim">{can.decide_patch}</p>}
          <Options
            label="Show"
            value={from}
            options={[
              { key: "round", label: `what it changes in round ${offer.round}` },
              { key: "base", label: "the whole change, from the base" },
            ]}
            onChange={setFrom}
          />
        </div>
      </Banner>
      {isError && patch === null ? (
        <Failure error={error} what="The counter-patch" retry={() => void refetch()} />
      ) : patch === null ? (
        <SkeletonRows count={12} label="the counter-patch" />
      ) : (
        <div className="min-h-0 flex-1">
          <Diff
            patch={patch}
            reviewKey={`${id}.patch.${persona}`}
            contentHash={`${persona} ${offer.version} ${from}`}
            notes={[]}
            renderNote={() => null}
            layout={layout}
            wrap={wrap}
            words={words}
            view={view}
            selection={null}
            onSelect={() => undefined}
            onComment={() => undefined}
            loadFile={async () => null}
          />
        </div>
      )}
    </div>
  );
}
