/** The personas that the settings define. */
import { queryOptions } from "@tanstack/react-query";
import { call } from "./api/client";
import { keys } from "./api/keys";

/** They change only with a restart of the broker. */
export const personas = () =>
  queryOptions({
    queryKey: keys.personas,
    queryFn: ({ signal }) => call("list_personas", {}, { signal }),
    staleTime: 60_000,
  });
