import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { type ActionId, hasModifier, match, pressed } from "./bindings";
import { useAreKeysOn } from "./preference";

export type Handlers = Partial<Record<ActionId, () => void>>;

/** The handlers of the parts on screen. A part that mounted later wins. */
class Registry {
  private stack: Handlers[] = [];
  private listeners = new Set<() => void>();
  private active: ReadonlySet<ActionId> = new Set();

  add(handlers: Handlers): () => void {
    this.stack.push(handlers);
    this.changed();
    return () => {
      this.stack = this.stack.filter((each) => each !== handlers);
      this.changed();
    };
  }

  find(action: ActionId): (() => void) | undefined {
    return this.stack.findLast((handlers) => handlers[action] !== undefined)?.[action];
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  getActive = (): ReadonlySet<ActionId> => this.active;

  private changed(): void {
    this.active = new Set(this.stack.flatMap((handlers) => Object.keys(handlers) as ActionId[]));
    for (const listener of this.listeners) listener();
  }
}

const KeysContext = createContext<Registry | null>(null);

function useRegistry(): Registry {
  const registry = useContext(KeysContext);
  if (registry === null) throw new Error("KeysProvider is missing");
  return registry;
}

const SEQUENCE_MS = 1_500;

export function KeysProvider({ children }: { children: ReactNode }) {
  const registry = useMemo(() => new Registry(), []);
  const areKeysOn = useAreKeysOn();
  useEffect(() => {
    let prefix: { keys: string; at: number } | null = null;
    const onKeyDown = (event: KeyboardEvent) => {
      const key = pressed(event);
      if (event.defaultPrevented || event.isComposing || isModifier(event.key)) return;
      if (!hasModifier(key) && (!areKeysOn || isTyping(event.target) || isInDialog(event.target))) return;
      const sequence = prefix !== null && Date.now() - prefix.at < SEQUENCE_MS ? `${prefix.keys} ${key}` : key;
      prefix = null;
      // Enter and arrows keep their meaning on buttons, links and menus.
      if (isOwnKey(event.target, key)) return;
      const found = match(sequence, registry.getActive());
      if (found === null) return;
      event.preventDefault();
      if (found === "prefix") prefix = { keys: sequence, at: Date.now() };
      else registry.find(found)?.();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [registry, areKeysOn]);
  return <KeysContext value={registry}>{children}</KeysContext>;
}

/** Handles actions while the part is on screen. The handlers may change with every render. */
export function useKeys(handlers: Handlers): void {
  const registry = useRegistry();
  const latest = useRef(handlers);
  latest.current = handlers;
  const actions = Object.keys(handlers).sort().join(",");
  useEffect(() => {
    const names = actions === "" ? [] : (actions.split(",") as ActionId[]);
    return registry.add(Object.fromEntries(names.map((name) => [name, () => latest.current[name]?.()])));
  }, [registry, actions]);
}

/** The actions that a key or the palette can run now. */
export function useActiveActions(): { active: ReadonlySet<ActionId>; run: (action: ActionId) => void } {
  const registry = useRegistry();
  const active = useSyncExternalStore(registry.subscribe, registry.getActive);
  return { active, run: (action) => registry.find(action)?.() };
}

function isModifier(key: string): boolean {
  return key === "Shift" || key === "Control" || key === "Meta" || key === "Alt";
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable ||
    target.matches("input:not([type=checkbox], [type=radio], [type=range]), textarea, select")
  );
}

function isInDialog(target: EventTarget | null): boolean {
  const own = '[role="dialog"], [role="alertdialog"], [role="menu"], [role="listbox"]';
  return target instanceof Element && target.closest(own) !== null;
}

function isOwnKey(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof Element)) return false;
  if (key === "Enter") return target.closest("button, a, input, summary, [role=button]") !== null;
  // On a link the space bar only scrolls.
  if (key === "Space") return target.closest("button, input, summary, [role=button]") !== null;
  const withArrows = "input, [role=tree], [role=grid], [role=tablist], [role=toolbar], [role=radiogroup]";
  return key.startsWith("Arrow") && target.closest(withArrows) !== null;
}
