import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import {
  Autocomplete,
  Collection,
  Dialog,
  Header,
  Heading,
  Input,
  Menu,
  MenuItem,
  MenuSection,
  Modal,
  ModalOverlay,
  SearchField,
} from "react-aria-components";
import { call } from "../api/client";
import type { ReviewRow, SearchResult } from "../api/generated";
import { keys } from "../api/keys";
import { KIND_WORDS, placeOfFound, plainText } from "../foundText";
import { inertLine } from "../text/inert";
import { statusGlyph, statusWord } from "../ui/Status";
import { type ActionId, keyOf } from "./bindings";
import { useActiveActions } from "./KeysContext";
import { actionEntries, type Entry, matching } from "./paletteEntries";

const TYPING_MS = 150;
/** Shorter texts match too much. */
const MIN_QUERY = 2;
/** Longer ones are refused by the broker. */
const MAX_QUERY = 500;

/** Everything that can be done now, every page, and every review, by typing. */
export function Palette({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <ModalOverlay
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      isDismissable
      className="fixed inset-0 z-40 flex items-start justify-center bg-scrim p-2 pt-16 md:pt-32"
    >
      <Modal className="w-full max-w-xl rounded border border-line bg-bg shadow-dialog">
        <Dialog className="outline-none">
          <Heading slot="title" className="sr-only">
            Palette
          </Heading>
          <Search onClose={onClose} />
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

function Search({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const { active, run } = useActiveActions();
  const navigate = useNavigate();
  const found = useFoundReviews(text);
  const texts = useFoundTexts(text);
  const actions = matching(actionEntries(active), text);
  const sections = [
    // An entry of the same id would take the place of the section.
    { id: "section actions", title: "Actions", entries: actions },
    { id: "section reviews", title: "Reviews", entries: found.map(reviewEntry) },
    { id: "section texts", title: "Issues and messages", entries: texts.map(textEntry) },
    { id: "section search", title: "Everywhere", entries: everywhere(text) },
  ].filter(({ entries }) => entries.length > 0);
  const choose = (entry: string) => {
    onClose();
    const review = found.find((row) => row.review_id === entry);
    const place = texts.find((one) => textEntry(one).id === entry);
    if (entry === EVERYWHERE) void navigate({ to: "/search", search: { q: text.trim() } });
    else if (place !== undefined) void navigate({ to: "/r/$review", ...placeOfFound(place) });
    else if (review !== undefined) void navigate({ to: "/r/$review", params: { review: review.number } });
    // The focus returns to the page first: an action may move it.
    else requestAnimationFrame(() => requestAnimationFrame(() => run(entry as ActionId)));
  };
  return (
    <Autocomplete inputValue={text} onInputChange={setText}>
      <SearchField aria-label="Find a review or an action" autoFocus className="flex border-b border-line px-4">
        <Input
          placeholder="Number, title, action or any words"
          className="w-full bg-transparent py-3 text-base outline-none placeholder:text-dim [&::-webkit-search-cancel-button]:hidden"
        />
      </SearchField>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
      <div className="max-h-96 overflow-y-auto" tabIndex={0}>
        <Menu
          aria-label="Results"
          items={sections}
          onAction={(key) => choose(String(key))}
          renderEmptyState={() => <p className="px-3 py-6 text-center text-dim">Nothing matches.</p>}
          className="p-2 outline-none"
        >
          {(section) => (
            <MenuSection id={section.id} className="mb-2">
              <Header className="px-3 py-1 text-xs font-semibold text-dim">{section.title}</Header>
              <Collection items={section.entries}>{(entry) => <EntryItem entry={entry} />}</Collection>
            </MenuSection>
          )}
        </Menu>
      </div>
    </Autocomplete>
  );
}

function EntryItem({ entry }: { entry: Entry }) {
  return (
    <MenuItem
      id={entry.id}
      textValue={entry.label}
      className="flex cursor-pointer items-center justify-between gap-4 rounded-sm px-3 py-2 outline-none data-focused:bg-accent-bg"
    >
      <span className="truncate">{entry.label}</span>
      <span className="shrink-0 text-xs text-dim">{entry.hint}</span>
    </MenuItem>
  );
}

function reviewEntry(row: ReviewRow): Entry {
  const hint = `${statusGlyph(row.status)} ${statusWord(row.status)}`;
  return { id: row.review_id, label: `${row.number} ${inertLine(row.intent)}`, hint };
}

const EVERYWHERE = "search everywhere";

function everywhere(text: string): Entry[] {
  const words = text.trim();
  if (words === "") return [];
  return [{ id: EVERYWHERE, label: `Search all texts for “${inertLine(words, 60)}”`, hint: keyOf("goSearch") }];
}

function textEntry(found: SearchResult): Entry {
  const { kind, review_id, number, issue_id, message_id, verdict_id } = found;
  const words = found.title === undefined ? found.snippet : found.title;
  return {
    id: [kind, review_id, issue_id ?? message_id ?? verdict_id ?? ""].join(" "),
    label: `${issue_id ?? number} ${inertLine(plainText(words))}`,
    hint: issue_id === undefined ? KIND_WORDS[kind] : `issue of ${number}`,
  };
}

/** The text when the person stops typing. */
function useTyped(text: string): string {
  const [wanted, setWanted] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setWanted(text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return wanted;
}

/** Issues, messages and reasons with these words. */
function useFoundTexts(text: string): SearchResult[] {
  const q = useTyped(text).slice(0, MAX_QUERY);
  const args = { q, kinds: ["finding" as const, "message" as const, "verdict" as const], limit: 6 };
  const { data } = useQuery({
    queryKey: [...keys.search(args), "palette"],
    queryFn: ({ signal }) => call("search", args, { signal }),
    enabled: q.length >= MIN_QUERY,
    staleTime: 0,
  });
  return q.length >= MIN_QUERY ? (data?.results ?? []) : [];
}

/** Reviews by number or title. */
function useFoundReviews(text: string): ReviewRow[] {
  const wanted = useTyped(text);
  const filter = wanted === "" ? {} : { q: wanted };
  const { data } = useQuery({
    queryKey: [...keys.list(filter), "palette"],
    queryFn: ({ signal }) => call("list_reviews", { ...filter, limit: 8 }, { signal }),
    placeholderData: (previous) => previous,
  });
  return data?.reviews ?? [];
}
