/** A cost in dollars. An unknown cost is a dash, never $0. */
export function Money({ usd }: { usd: number | null | undefined }) {
  if (usd === null || usd === undefined) {
    return (
      <span title="The reviewers reported no cost.">
        <span aria-hidden="true">—</span>
        <span className="sr-only">unknown</span>
      </span>
    );
  }
  return <span>${usd.toFixed(usd < 100 ? 2 : 0)}</span>;
}
