import "./styles/base.css";
import { hashKey, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { type Answer, isCode, isRetryable } from "./api/client";
import { keys } from "./api/keys";
import { KeysProvider } from "./keys/KeysContext";
import { LiveContext } from "./live/LiveContext";
import { LiveSocket } from "./live/socket";
import { whoami } from "./me";
import { router } from "./routes";

const queries = new QueryClient({
  queryCache: new QueryCache({
    onSuccess: (data, query) => {
      if (query.queryHash !== hashKey(keys.whoami)) return;
      const { token_required, authority, seq } = data as Answer<"whoami">;
      if (token_required && authority === null) toSignIn();
      else live.admitted(seq);
    },
    onError: (error, query) => {
      // A page that shows something stays: a banner offers to sign in again.
      if (isCode(error, "token_needed", "unknown_token")) query.state.data === undefined && toSignIn();
      // The connection says that the broker does not answer, and tries again.
      else if (query.queryHash === hashKey(keys.whoami)) live.admitted(null);
    },
  }),
  defaultOptions: {
    queries: {
      // Events say when something changed; nothing is loaded again just because time passed.
      staleTime: Number.POSITIVE_INFINITY,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      networkMode: "always",
      retry: (failures, error) => failures < 3 && isRetryable(error),
    },
    mutations: { retry: false, networkMode: "always" },
  },
});

function toSignIn() {
  const { pathname, href } = router.latestLocation;
  if (pathname === "/sign-in") return;
  void router.navigate({ to: "/sign-in", hash: `next=${encodeURIComponent(href)}`, replace: true });
}

const live = new LiveSocket(queries);
live.start();

// Before the code of the page has arrived: everything else waits for this answer.
void queries.prefetchQuery(whoami());

const container = document.getElementById("root");
if (container === null) throw new Error("index.html has no element with the id root");
createRoot(container).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <LiveContext value={live}>
        <KeysProvider>
          <RouterProvider router={router} />
        </KeysProvider>
      </LiveContext>
    </QueryClientProvider>
  </StrictMode>,
);
