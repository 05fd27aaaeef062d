/** The settings as the page lists them: by section, found by words, and the command that changes one. */
import type { Setting, SettingLayer } from "../../api/generated";
import type { SettingsSearch } from "./search";

export const LAYERS: Record<SettingLayer, string> = {
  default: "default",
  user_file: "your file",
  project_file: "project's file",
  named_file: "file of --config",
  environment: "environment",
  option: "option",
};

export interface Section {
  name: string;
  settings: Setting[];
}

/** What matches, by section, in the order of their names. Every word must occur in name, value or description. */
export function sectionsOf(settings: readonly Setting[], { q = "", changed }: SettingsSearch): Section[] {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const sections = new Map<string, Setting[]>();
  for (const setting of settings) {
    if (changed === true && setting.layer === "default") continue;
    const text = `${setting.name} ${valueWords(setting.value)} ${setting.description ?? ""}`.toLowerCase();
    if (!words.every((word) => text.includes(word))) continue;
    const name = setting.name.split(".")[0] ?? setting.name;
    sections.set(name, [...(sections.get(name) ?? []), setting]);
  }
  return [...sections].map(([name, found]) => ({ name, settings: found }));
}

/** A value on one line, as the command line prints it. */
export function valueWords(value: unknown): string {
  if (typeof value === "string") return value === "" ? '""' : value;
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) {
    return value.length === 0 ? "[]" : value.join(", ");
  }
  return JSON.stringify(value);
}

/** What the command takes as the value. `null`: tables are written in an editor. */
export function valueArgument(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value.join(", ");
  return null;
}

/** The broker hides arguments and paths that may be secrets. */
export function hasSecret(value: unknown): boolean {
  return JSON.stringify(value).includes("(hidden)");
}

export interface PanelRule {
  personas: string[];
  /** When it applies, in words. */
  when: string;
  /** What it does beside adding its personas. */
  remarks: string[];
}

/** The rules of `panel.rules` in words. What is not a rule is left out. */
export function panelRules(value: unknown): PanelRule[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((rule: unknown) => {
    if (typeof rule !== "object" || rule === null) return [];
    const { paths, category, personas, replace, required } = rule as Record<string, unknown>;
    const isStrings = (list: unknown): list is string[] =>
      Array.isArray(list) && list.every((item) => typeof item === "string");
    if (!isStrings(personas)) return [];
    const conditions = [
      typeof category === "string" ? `the kind is ${category.replaceAll("_", " ")}` : null,
      isStrings(paths) ? `a changed file matches ${paths.join(" or ")}` : null,
    ].filter((condition) => condition !== null);
    const remarks = [
      replace === true ? "in place of the default personas" : null,
      required === true ? "must approve, also if the proposer names others" : null,
    ].filter((remark) => remark !== null);
    return [{ personas, when: conditions.length === 0 ? "always" : conditions.join(" and "), remarks }];
  });
}
