import { useQuery } from "@tanstack/react-query";
import { Name } from "../../text/UserText";
import { duration } from "../../time";
import { Money } from "../../ui/Money";
import { proposal } from "./queries";
import { useReview } from "./ReviewContext";

/** Time and cost of each reviewer and round, as far as they report it. */
export function EffortTable() {
  const { moment, review } = useReview();
  const { data } = useQuery(proposal(moment, review.current_round));
  const rows = data?.effort?.by_reviewer ?? [];
  if (rows.length === 0) return <p className="text-dim">No verdict yet.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <div className="overflow-x-auto" tabIndex={0}>
      <table className="w-full text-left">
        <thead className="text-dim">
          <tr>
            {["Round", "Seat", "Reviewer", "Time", "Cost"].map((title) => (
              <th key={title} scope="col" className="pr-3 font-medium">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.round} ${row.persona} ${row.reviewer_id}`}>
              <td className="pr-3">{row.round}</td>
              <td className="pr-3">
                <Name>{row.persona}</Name>
              </td>
              <td className="pr-3">
                <Name>{row.reviewer_id}</Name>
              </td>
              <td className="pr-3">{row.duration_ms === 0 ? "—" : duration(row.duration_ms)}</td>
              <td>
                <Money usd={row.cost_usd === 0 ? null : row.cost_usd} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
