import { useQuery } from "@tanstack/react-query";
import type { Issue } from "../../api/generated";
import { inert } from "../../text/inert";
import { Name, UserText } from "../../text/UserText";
import { Fold } from "../../ui/Fold";
import { Time } from "../../ui/Time";
import { FindingLink } from "./FindingLink";
import { discussion } from "./queries";
import { useReview } from "./ReviewContext";
import { ReviewText } from "./ReviewText";

/** The text of a finding, what was suggested, what the proposer said, how it ended, and the messages about it. */
export function FindingBody({ issue }: { issue: Issue }) {
  const { proposer_says: said, resolution, grounding_note, suggestion, code_snippet, rule_ref, duplicate_of } = issue;
  return (
    <>
      {issue.description !== undefined && <ReviewText text={issue.description} />}
      {grounding_note !== undefined && (
        <UserText text={`Check of the location: ${grounding_note}`} className="text-xs text-dim" />
      )}
      {rule_ref !== undefined && <UserText text={`Rule: ${rule_ref}`} className="text-xs text-dim" />}
      {duplicate_of !== undefined && (
        <p>
          The same as <FindingLink id={duplicate_of} />.
        </p>
      )}
      {suggestion !== undefined && (
        <figure>
          <figcaption className="text-xs text-dim">Suggestion</figcaption>
          <Code text={suggestion} />
        </figure>
      )}
      {code_snippet !== undefined && (
        <Fold title={<span className="text-xs text-dim">Quoted code</span>}>
          <Code text={code_snippet} />
        </Fold>
      )}
      {said !== undefined && (
        <div className="border-l-2 border-accent pl-3">
          <p className="text-xs text-dim">
            <Name>{said.by}</Name> says {said.says.replace("_", " ")} in round {said.round}, <Time at={said.at} />
          </p>
          {said.note !== undefined && <ReviewText text={said.note} />}
        </div>
      )}
      {resolution !== undefined && (
        <div className="border-l-2 border-line pl-3">
          <p className="text-xs text-dim">
            <Name>{resolution.by}</Name> ({resolution.role}) decided it in round {resolution.round},{" "}
            <Time at={resolution.at} />
          </p>
          {resolution.note !== undefined && <ReviewText text={resolution.note} />}
        </div>
      )}
      <Replies issueId={issue.issue_id} />
    </>
  );
}

function Code({ text }: { text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <pre tabIndex={0} className="overflow-x-auto rounded border border-line bg-bg p-2">
      {inert(text)}
    </pre>
  );
}

/** The messages that refer to the finding. */
function Replies({ issueId }: { issueId: string }) {
  const { moment } = useReview();
  const { data = [] } = useQuery(discussion(moment));
  const replies = data.filter(({ anchor }) => anchor?.issue === issueId);
  return replies.map((message) => (
    <div key={message.id} className="border-l-2 border-line pl-3">
      <p className="text-xs text-dim">
        <Name className="font-medium text-text">{message.caller_id ?? message.sender_role}</Name> ({message.sender_role}
        ), <Time at={message.at} />
      </p>
      <ReviewText text={message.body} />
    </div>
  ));
}
