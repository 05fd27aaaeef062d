import { Press } from "../../ui/Press";
import { useReview } from "./ReviewContext";

/** The id of a finding that a text names. It leads there, if the review has that finding. */
export function FindingLink({ id }: { id: string }) {
  const { issues, goToFinding } = useReview();
  const issue = issues.find(({ issue_id }) => issue_id === id);
  if (issue === undefined) return <>{id}</>;
  return (
    <Press
      onPress={() => goToFinding(id)}
      className="rounded-sm font-medium whitespace-nowrap text-accent underline-offset-2 hover:underline"
    >
      {id}
    </Press>
  );
}
