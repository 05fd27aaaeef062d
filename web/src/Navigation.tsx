import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useRef } from "react";
import { type DestinationLink, destinations } from "./destinations";
import logo from "./favicon.svg";
import { useNeedsMe } from "./features/inbox/queries";
import { keyOf } from "./keys/bindings";
import { type Handlers, useKeys } from "./keys/KeysContext";
import { LiveDot } from "./live/LiveDot";
import { useMe } from "./me";
import { Name } from "./text/UserText";
import { KeyHint } from "./ui/KeyHint";
import { Press } from "./ui/Press";

const item =
  "flex items-center justify-between gap-2 rounded px-2 py-1 whitespace-nowrap no-underline hover:bg-hover hover:no-underline md:px-3";
const activeProps = { className: "bg-accent-bg font-semibold", "aria-current": "page" } as const;
const tool = `${item} text-left text-dim hover:text-text`;

interface NavigationProps {
  onHelp: () => void;
  onPalette: () => void;
  /** The pointer or the focus came near the buttons of help and palette. */
  onNear: () => void;
}

/** A column of links; on a narrow screen a bar with the first ones and a menu of the others. */
export function Navigation({ onHelp, onPalette, onNear }: NavigationProps) {
  return (
    <nav
      aria-label="Main"
      className="sticky top-0 z-30 flex items-center gap-1 border-b border-line bg-raised px-2 py-1 md:h-dvh md:w-44 md:shrink-0 md:flex-col md:items-stretch md:overflow-y-auto md:border-r md:border-b-0 md:py-3"
    >
      <Link
        to="/"
        className="flex items-center gap-2 px-3 pt-1 pb-3 font-semibold text-text no-underline hover:no-underline max-md:sr-only"
      >
        <img src={logo} alt="" className="size-5" />
        Countersign
      </Link>
      {destinations.map((destination, index) => (
        <PageLink
          key={destination.to}
          destination={destination}
          className={`${"isFirst" in destination ? "" : "max-md:hidden"} ${startsGroup(index) ? "md:mt-3" : ""}`}
        />
      ))}
      <More />
      <div className="grow" />
      <LiveDot />
      <Press onPress={onPalette} onPointerEnter={onNear} onFocus={onNear} className={`${tool} max-md:hidden`}>
        Search <KeyHint keys={keyOf("palette")} />
      </Press>
      <Press onPress={onHelp} onPointerEnter={onNear} onFocus={onNear} className={`${tool} max-md:hidden`}>
        Keys <KeyHint keys={keyOf("help")} />
      </Press>
      <PreferencesLink />
    </nav>
  );
}

/** The keys of all pages. They also work where the navigation is not shown. */
export function useDestinationKeys(): void {
  const navigate = useNavigate();
  const handlers: Handlers = {
    goPreferences: () => void navigate({ to: "/preferences" }),
    goSearch: () => void navigate({ to: "/search" }),
  };
  for (const { to, action } of destinations) handlers[action] = () => void navigate({ to });
  useKeys(handlers);
}

function startsGroup(index: number): boolean {
  return index > 0 && destinations[index]?.group !== destinations[index - 1]?.group;
}

interface PageLinkProps {
  destination: DestinationLink;
  className?: string;
  onPress?: () => void;
}

function PageLink({ destination: { to, label }, className = "", onPress }: PageLinkProps) {
  return (
    <Link
      to={to}
      className={`${item} text-text ${className}`}
      activeProps={activeProps}
      activeOptions={{ exact: to === "/" }}
      {...(onPress !== undefined && { onClick: onPress })}
    >
      {label}
      {to === "/" && <NeedsMe />}
    </Link>
  );
}

function NeedsMe() {
  const { count } = useNeedsMe();
  if (count === null) return null;
  return (
    <span className="rounded-full bg-accent px-2 text-xs font-semibold text-on-accent">
      {count}
      <span className="sr-only"> need you</span>
    </span>
  );
}

/** The links that a narrow screen has no room for. */
function More(): ReactNode {
  const menu = useRef<HTMLDivElement>(null);
  return (
    <>
      <button type="button" popoverTarget="more-pages" className={`${tool} md:hidden`}>
        More
      </button>
      <div
        ref={menu}
        id="more-pages"
        popover="auto"
        className="fixed inset-x-2 top-12 bottom-auto m-0 w-auto rounded border border-line bg-bg p-2 text-text shadow-dialog md:hidden"
      >
        {destinations.map(
          (destination, index) =>
            !("isFirst" in destination) && (
              <PageLink
                key={destination.to}
                destination={destination}
                className={`py-2 ${startsGroup(index) ? "mt-2" : ""}`}
                onPress={() => menu.current?.hidePopover()}
              />
            ),
        )}
      </div>
    </>
  );
}

function PreferencesLink() {
  const me = useMe();
  return (
    <Link to="/preferences" className={`${tool} min-w-0 max-md:max-w-24`} activeProps={activeProps}>
      <Name className="truncate">{me.name}</Name>
      <span className="sr-only">: preferences</span>
      <span aria-hidden="true">⚙</span>
    </Link>
  );
}
