import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "../../api/client";
import type { ReviewRow } from "../../api/generated";
import { keys } from "../../api/keys";
import { Name, UserText } from "../../text/UserText";
import { waitingWords } from "../../turns";
import { Dialog } from "../../ui/Dialog";
import { Failure } from "../../ui/Failure";
import * as figures from "../../ui/RowFigures";
import { SkeletonRows } from "../../ui/Skeleton";
import { Status } from "../../ui/Status";

const MAX_FILES = 12;
const MAX_CHARS = 1_500;

/** What a review is about, without leaving the list. */
export function Preview({ row, onClose }: { row: ReviewRow; onClose: () => void }) {
  const { data, isPending, error, refetch } = useQuery({
    queryKey: [...keys.review(row.review_id), "preview"],
    queryFn: ({ signal }) => call("get_review", { review_id: row.review_id }, { signal }),
  });
  const waits = waitingWords(row);
  return (
    <Dialog title={`${row.number}, in short`} isOpen onClose={onClose} isWide>
      <div className="flex flex-col gap-3">
        <p className="text-base font-semibold">
          <Name>{row.intent}</Name>
        </p>
        <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-dim">
          <Status status={row.status} />
          <figures.RowSeats row={row} />
          <figures.Issues row={row} />
          <figures.Author row={row} />
          <figures.RowAge row={row} />
          {waits !== "" && <Name>{waits}</Name>}
        </div>
        {isPending ? (
          <SkeletonRows count={4} label="the proposal" />
        ) : data === undefined ? (
          <Failure error={error} what="The proposal" retry={() => void refetch()} />
        ) : (
          <>
            {data.description !== undefined && <UserText text={shortened(data.description)} />}
            <Files files={data.affected_files ?? []} total={data.affected_files_total ?? 0} />
          </>
        )}
        <p>
          <Link to="/r/$review" params={{ review: row.number }}>
            Open {row.number}
          </Link>
        </p>
      </div>
    </Dialog>
  );
}

interface FilesProps {
  files: readonly { path: string; added: number; removed: number }[];
  total: number;
}

function Files({ files, total }: FilesProps) {
  const shown = files.slice(0, MAX_FILES);
  if (shown.length === 0) return null;
  return (
    <ul aria-label="Files" className="flex flex-col font-mono text-xs">
      {shown.map(({ path, added, removed }) => (
        <li key={path} className="flex gap-3">
          <Name className="min-w-0 flex-1">{path}</Name>
          <span className="text-ok">+{added}</span>
          <span className="text-bad">−{removed}</span>
        </li>
      ))}
      {total > shown.length && <li className="text-dim">and {total - shown.length} more</li>}
    </ul>
  );
}

function shortened(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}
