/** The one table of pages: path, search parameters, component. Nothing else knows a path. */
import { createRootRoute, createRoute, createRouter, Link, lazyRouteComponent } from "@tanstack/react-router";
import { App } from "./App";
import { type LogSearch, parseLogSearch } from "./features/activity/search";
import { type ActorsSearch, parseActorsSearch } from "./features/actors/search";
import { type ApiDocsSearch, parseApiDocsSearch } from "./features/apiDocs/search";
import { InboxPage } from "./features/inbox/InboxPage";
import { type IssuesSearch, parseIssuesSearch } from "./features/issues/search";
import { parseReviewerLogSearch, type ReviewerLogSearch } from "./features/pool/search";
import { parseReviewSearch, type ReviewSearch } from "./features/review/search";
import { parseReviewsSearch, type ReviewsSearch } from "./features/reviews/search";
import { parseTextSearch, type TextSearch } from "./features/search/search";
import { parseSettingsSearch, type SettingsSearch } from "./features/settings/search";
import { parseStatsSearch, type StatsSearch } from "./features/stats/search";
import { Page } from "./ui/Page";

const root = createRootRoute({ component: App, notFoundComponent: NotFound });

// Not lazy: most visits begin here.
const inbox = createRoute({ getParentRoute: () => root, path: "/", component: InboxPage });

const start = createRoute({
  getParentRoute: () => root,
  path: "/start",
  component: lazyRouteComponent(() => import("./features/start/StartPage"), "StartPage"),
});

const reviews = createRoute({
  getParentRoute: () => root,
  path: "/r",
  validateSearch: (search): ReviewsSearch => parseReviewsSearch(search),
  component: lazyRouteComponent(() => import("./features/reviews/ReviewsPage"), "ReviewsPage"),
});

const review = createRoute({
  getParentRoute: () => root,
  path: "/r/$review",
  validateSearch: (search): ReviewSearch => parseReviewSearch(search),
  component: lazyRouteComponent(() => import("./features/review/ReviewPage"), "ReviewPage"),
});

const log = createRoute({
  getParentRoute: () => root,
  path: "/log",
  validateSearch: (search): LogSearch => parseLogSearch(search),
  component: lazyRouteComponent(() => import("./features/activity/ActivityPage"), "ActivityPage"),
});

const stats = createRoute({
  getParentRoute: () => root,
  path: "/stats",
  validateSearch: (search): StatsSearch => parseStatsSearch(search),
  component: lazyRouteComponent(() => import("./features/stats/StatsPage"), "StatsPage"),
});

const issues = createRoute({
  getParentRoute: () => root,
  path: "/i",
  validateSearch: (search): IssuesSearch => parseIssuesSearch(search),
  component: lazyRouteComponent(() => import("./features/issues/IssuesPage"), "IssuesPage"),
});

const textSearch = createRoute({
  getParentRoute: () => root,
  path: "/search",
  validateSearch: (search): TextSearch => parseTextSearch(search),
  component: lazyRouteComponent(() => import("./features/search/SearchPage"), "SearchPage"),
});

const pool = createRoute({
  getParentRoute: () => root,
  path: "/pool",
  component: lazyRouteComponent(() => import("./features/pool/PoolPage"), "PoolPage"),
});

const reviewerLog = createRoute({
  getParentRoute: () => root,
  path: "/pool/$reviewer",
  validateSearch: (search): ReviewerLogSearch => parseReviewerLogSearch(search),
  component: lazyRouteComponent(() => import("./features/pool/LogPage"), "LogPage"),
});

const actors = createRoute({
  getParentRoute: () => root,
  path: "/actors",
  validateSearch: (search): ActorsSearch => parseActorsSearch(search),
  component: lazyRouteComponent(() => import("./features/actors/ActorsPage"), "ActorsPage"),
});

const preferences = createRoute({
  getParentRoute: () => root,
  path: "/preferences",
  component: lazyRouteComponent(() => import("./features/preferences/PreferencesPage"), "PreferencesPage"),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  validateSearch: (search): SettingsSearch => parseSettingsSearch(search),
  component: lazyRouteComponent(() => import("./features/settings/SettingsPage"), "SettingsPage"),
});

const apiDocs = createRoute({
  getParentRoute: () => root,
  path: "/api-docs",
  validateSearch: (search): ApiDocsSearch => parseApiDocsSearch(search),
  component: lazyRouteComponent(() => import("./features/apiDocs/ApiDocsPage"), "ApiDocsPage"),
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  component: lazyRouteComponent(() => import("./features/signIn/SignInPage"), "SignInPage"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    inbox,
    start,
    reviews,
    review,
    issues,
    textSearch,
    pool,
    reviewerLog,
    actors,
    log,
    stats,
    settings,
    apiDocs,
    preferences,
    signIn,
  ]),
  defaultPreload: "intent",
  scrollRestoration: true,
  // Only what a page's parser has accepted: a wrong value in the address must not reach the page.
  search: { strict: true },
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

function NotFound() {
  return (
    <Page title="Page not found">
      <p>
        There is nothing at this address. <Link to="/">Go to the inbox</Link>.
      </p>
    </Page>
  );
}
