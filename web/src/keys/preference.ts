import { isBoolean, useStored } from "../storage";

/** Single keys can be switched off, because they disturb speech input (WCAG 2.1.4). */
export function useKeysPreference(): [boolean, (areOn: boolean) => void] {
  return useStored("keys", isBoolean, true);
}

export function useAreKeysOn(): boolean {
  return useKeysPreference()[0];
}
