import { useQuery } from "@tanstack/react-query";
import type { Flag, FlagKind } from "../../api/generated";
import { Name, UserText } from "../../text/UserText";
import { escalationWords, proposerOf } from "../../turns";
import { Banner } from "../../ui/Banner";
import { Button } from "../../ui/Button";
import { Fold } from "../../ui/Fold";
import { shortHash } from "./model";
import { proposal } from "./queries";
import { useReview } from "./ReviewContext";

/** Remarks about the proposal that a reader should not miss. */
export function Banners() {
  const { moment, review, shown } = useReview();
  const { data } = useQuery(proposal(moment, shown.round));
  const flags = data?.flags ?? [];
  return (
    <div className="flex flex-col gap-1 empty:hidden">
      <EarlierRound />
      {review.escalate && (
        <Banner tone="warn" title={`Escalated: ${escalationWords(review.escalate_why)}`}>
          <p>An operator's message, a new seat, a take-over or a decision about a finding lets the parties go on.</p>
        </Banner>
      )}
      <Check />
      {flags.length > 0 && <Flags flags={flags} total={data?.flags_total ?? flags.length} />}
      <BranchMoved />
      {review.seats.map(
        ({ persona, could_not_review }) =>
          could_not_review !== undefined && (
            <Banner key={persona} tone="warn" title={<Name>{`The reviewer of ${persona} could not review it`}</Name>}>
              <UserText text={could_not_review} />
            </Banner>
          ),
      )}
      {review.cancel_reason !== undefined && (
        <Banner tone="info" title="Cancelled">
          <UserText text={review.cancel_reason} />
        </Banner>
      )}
    </div>
  );
}

function EarlierRound() {
  const { review, shown, showLatest } = useReview();
  if (shown.isCurrent || shown.isOutdated || shown.hash === null) return null;
  return (
    <Banner
      tone="info"
      title={`You see round ${shown.round} of ${review.current_round}`}
      actions={<Button onPress={() => showLatest("whole")}>Show round {review.current_round}</Button>}
    />
  );
}

/** What git says about the diff. */
function Check() {
  const { review } = useReview();
  const { applies, validation_error, applies_to_head, base_behind, auto_rejected } = review;
  const behind = base_behind === undefined ? null : `${base_behind} ${base_behind === 1 ? "commit" : "commits"}`;
  return (
    <>
      {(applies === false || auto_rejected) && (
        <Banner tone="bad" title={auto_rejected ? "Sent back: the diff does not apply" : "The diff does not apply"}>
          {validation_error !== undefined && <UserText text={validation_error} className="font-mono text-xs" />}
        </Banner>
      )}
      {applies === undefined && !auto_rejected && validation_error !== undefined && (
        <Banner tone="warn" title="The diff could not be checked">
          <UserText text={validation_error} className="font-mono text-xs" />
        </Banner>
      )}
      {review.diff_validation_skipped === true && (
        <Banner tone="warn" title="The proposer skipped the check whether the diff applies" />
      )}
      {behind !== null && base_behind !== 0 && (
        <Banner
          tone={applies_to_head === false ? "warn" : "info"}
          title={`Its base was ${behind} behind HEAD at the last claim${applies_to_head === false ? ", and the diff did not apply to HEAD" : ""}`}
        />
      )}
    </>
  );
}

const FLAGS: Record<FlagKind, string> = {
  symlink: "symbolic link",
  gitlink: "submodule",
  mode_change: "change of mode",
  executable: "new executable",
  agent_config: "configuration of agents",
  ci_config: "configuration of CI",
  git_config: "configuration of git",
  build_config: "configuration of builds or editors",
  control_characters: "control or invisible characters",
  bidi_characters: "characters that change the direction of text",
  mixed_scripts: "letters that look like others",
  text_outside_hunks: "text outside of hunks",
};

/** Fewer places are shown at once. */
const FOLDED_FLAGS = 2;

function Flags({ flags, total }: { flags: readonly Flag[]; total: number }) {
  const kinds = [...new Set(flags.map(({ kind }) => FLAGS[kind]))].join(", ");
  const isFolded = total >= FOLDED_FLAGS;
  const places = (
    <ul className={`flex flex-col gap-1 ${isFolded ? "pl-5" : ""}`}>
      {flags.map(({ kind, path, detail }) => (
        <li key={`${kind} ${path ?? ""} ${detail}`}>
          {path !== undefined && !detail.startsWith(path) && (
            <>
              <Name className="font-mono">{path}</Name>:{" "}
            </>
          )}
          <Name>{detail}</Name>
        </li>
      ))}
      {total > flags.length && <li>and {total - flags.length} more</li>}
    </ul>
  );
  return (
    <Banner tone="warn" title={`Look twice: ${kinds}`}>
      {isFolded ? <Fold title={`${total} places`}>{places}</Fold> : places}
    </Banner>
  );
}

function BranchMoved() {
  const { review, can, openDialog } = useReview();
  const { target, branch_head, status } = review;
  if (target?.kind !== "branch" || branch_head === undefined || branch_head === target.head) return null;
  if (status === "closed") return null;
  return (
    <Banner
      tone="info"
      title={
        <>
          <Name>{target.name}</Name> has moved from {shortHash(target.head)} to {shortHash(branch_head)} since
        </>
      }
      actions={
        can.resubmit === null && <Button onPress={() => openDialog({ kind: "resubmit" })}>Submit the new head</Button>
      }
    >
      <p className="text-dim">
        The review is about {shortHash(target.head)} until <Name>{proposerOf(review)}</Name> submits a new round.
      </p>
    </Banner>
  );
}
