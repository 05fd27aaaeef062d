import { queryOptions } from "@tanstack/react-query";
import { call } from "../../api/client";
import { readDocument } from "./model";

/** The document belongs to the build of the broker. */
export const apiDocument = () =>
  queryOptions({
    queryKey: ["openapi"],
    queryFn: async ({ signal }) => readDocument(await call("get_openapi", {}, { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });
