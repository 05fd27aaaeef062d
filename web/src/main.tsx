import "./styles/base.css";
import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { isCode, isRetryable } from "./api/client";
import { KeysProvider } from "./keys/KeysContext";
import { LiveContext } from "./live/LiveContext";
import { LiveSocket } from "./live/socket";
import { router } from "./routes";

const queries = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, query) => {
      if (!isCode(error, "token_needed", "unknown_token")) return;
      const { pathname, href } = router.state.location;
      // A page that shows something stays: a banner offers to sign in again.
      if (pathname === "/sign-in" || query.state.data !== undefined) return;
      void router.navigate({ to: "/sign-in", hash: `next=${encodeURIComponent(href)}`, replace: true });
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

const live = new LiveSocket(queries);
live.start();

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
