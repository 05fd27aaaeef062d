import { useQuery } from "@tanstack/react-query";
import { lazy, type ReactNode, type RefObject, Suspense, useEffect, useRef } from "react";
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components";
import { SkeletonRows } from "../../ui/Skeleton";
import { AboutPanel } from "./AboutPanel";
import { Conversation } from "./Conversation";
import { DiffOptions } from "./DiffOptions";
import type { DiffPlace } from "./DiffView";
import { FindingsPanel } from "./FindingsPanel";
import { PanelBoundary } from "./PanelBoundary";
import { proposal } from "./queries";
import { useReview } from "./ReviewContext";
import { RoundPicker } from "./RoundPicker";
import type { Tab as TabName } from "./search";
import { useRoundDiff } from "./useRoundDiff";
import { useIsWide } from "./useWide";

/** A review shows one of these at a time, and a plan needs no diff. */
const DiffPanel = lazy(() => import("./DiffPanel").then(({ DiffPanel }) => ({ default: DiffPanel })));
const PlanPanel = lazy(() => import("./PlanPanel").then(({ PlanPanel }) => ({ default: PlanPanel })));
const PatchPanel = lazy(() => import("./PatchPanel").then(({ PatchPanel }) => ({ default: PatchPanel })));

interface ReviewPanesProps extends DiffPlace {
  seenVersion: number | null;
  composer: RefObject<HTMLTextAreaElement | null>;
}

/** Content and conversation: side by side where there is room, else one tab each. */
export function ReviewPanes({ seenVersion, composer, ...place }: ReviewPanesProps) {
  const { review, search } = useReview();
  const isWide = useIsWide();
  const content = (
    <PanelBoundary what="The content">
      <Content {...place} />
    </PanelBoundary>
  );
  const talk = (
    <PanelBoundary what="The conversation">
      <Conversation seenVersion={seenVersion} composer={composer} />
    </PanelBoundary>
  );
  const lists = (
    <>
      <PaneTab id="findings" isScrolling>
        <PanelBoundary what="The list of findings">
          <FindingsPanel />
        </PanelBoundary>
      </PaneTab>
      <PaneTab id="about" isScrolling>
        <PanelBoundary what="This part">
          <AboutPanel />
        </PanelBoundary>
      </PaneTab>
    </>
  );
  if (!isWide) {
    return (
      <PaneTabs selected={search.tab ?? "diff"} className="flex-1">
        <PaneTab id="diff">
          <div
            className="flex flex-wrap items-center gap-2 border-b border-line px-2 py-1 empty:hidden"
            data-print="hide"
          >
            <RoundPicker />
            {review.has_diff && <DiffOptions />}
          </div>
          {content}
        </PaneTab>
        <PaneTab id="conversation">{talk}</PaneTab>
        {lists}
      </PaneTabs>
    );
  }
  return (
    <div className="flex min-h-96 flex-1">
      <div className="flex min-w-0 flex-1 flex-col">{content}</div>
      <PaneTabs
        selected={search.tab === undefined || search.tab === "diff" ? "conversation" : search.tab}
        className="w-90 shrink-0 border-l border-line 2xl:w-112"
      >
        <PaneTab id="conversation">{talk}</PaneTab>
        {lists}
      </PaneTabs>
    </div>
  );
}

function Content(place: DiffPlace) {
  const { moment, review, shown, search } = useReview();
  // An earlier round may have been a plan.
  const { data } = useQuery({ ...proposal(moment, shown.round), enabled: !shown.isCurrent });
  const hasDiff = shown.isCurrent ? review.has_diff : (data?.has_diff ?? review.has_diff);
  const isPatch = search.patch !== undefined;
  // Asked for here, before the code of the panel has arrived.
  useRoundDiff(hasDiff && !isPatch);
  return (
    <>
      <h2 className="sr-only">{isPatch ? "Counter-patch" : hasDiff ? "Diff" : "Plan"}</h2>
      <Suspense fallback={<SkeletonRows count={16} label="the content" />}>
        {isPatch ? <PatchPanel persona={search.patch ?? ""} /> : hasDiff ? <DiffPanel {...place} /> : <PlanPanel />}
      </Suspense>
    </>
  );
}

function PaneTabs({ selected, className, children }: { selected: TabName; className: string; children: ReactNode }) {
  const { review, issues, target, go } = useReview();
  const isWide = useIsWide();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The place that was asked for lies in a tab below the head of the page.
    if (target !== null && !isWide) box.current?.scrollIntoView({ block: "start" });
  }, [target, isWide]);
  const open = issues.filter(({ status }) => status === "open").length;
  const titles: [TabName, string][] = [
    ["conversation", `Conversation${review.message_count > 0 ? ` ${review.message_count}` : ""}`],
    ["findings", `Findings${open > 0 ? ` ${open}` : ""}`],
    ["about", "About"],
  ];
  const all = isWide ? titles : ([["diff", review.has_diff ? "Diff" : "Plan"], ...titles] as const);
  return (
    <Tabs
      ref={box}
      selectedKey={selected}
      onSelectionChange={(key) => go({ tab: key as TabName })}
      className={`flex scroll-mt-9 flex-col md:scroll-mt-0 ${className}`}
    >
      <TabList
        aria-label="Parts of the review"
        className="z-20 flex shrink-0 gap-1 overflow-x-auto border-b border-line bg-bg px-2 max-xl:sticky max-md:top-9 md:top-0"
      >
        {all.map(([id, title]) => (
          <Tab
            key={id}
            id={id}
            className="cursor-pointer border-b-2 border-transparent px-2 py-2 whitespace-nowrap text-dim outline-offset-[-2px] hover:text-text data-selected:border-accent data-selected:font-medium data-selected:text-text"
          >
            {title}
          </Tab>
        ))}
      </TabList>
      {children}
    </Tabs>
  );
}

function PaneTab({ id, isScrolling = false, children }: { id: TabName; isScrolling?: boolean; children: ReactNode }) {
  // Between the tabs and the actions; on a phone the navigation is above them. Lists make the page long instead.
  const height = isScrolling
    ? "xl:overflow-y-auto"
    : "max-md:h-[calc(100dvh-7.75rem)] md:max-xl:h-[calc(100dvh-5.5rem)]";
  return (
    <TabPanel id={id} className={`flex flex-col outline-none xl:min-h-0 xl:flex-1 ${height}`}>
      {children}
    </TabPanel>
  );
}
