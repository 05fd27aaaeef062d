import { buttonLook } from "../../ui/buttonLook";
import { filterOf, type LogSearch } from "./search";

/** The audit log under the same filters as a file, one event per line. */
export function Download({ search }: { search: LogSearch }) {
  const pairs = Object.entries(filterOf(search)).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, String(one)]),
  );
  const query = new URLSearchParams(pairs);
  return (
    <a
      href={`/api/v1/audit/export?${query}`}
      download="audit.jsonl"
      className={`${buttonLook()} text-text no-underline hover:no-underline`}
    >
      Download JSONL
    </a>
  );
}
