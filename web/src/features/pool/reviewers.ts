/** The pool with what each reviewer does now. */
import { queryOptions } from "@tanstack/react-query";
import { call } from "../../api/client";
import { keys } from "../../api/keys";

/** Events tell what happens, not how the time passes that a reviewer is idle. */
const RECHECK_MS = 10_000;

export const reviewers = () =>
  queryOptions({
    queryKey: keys.reviewers,
    queryFn: ({ signal }) => call("list_reviewers", {}, { signal }),
    refetchInterval: RECHECK_MS,
  });
