import type { ViewerProps } from "./viewer";

export function DiffPane(_: ViewerProps): never {
  throw new Error("not built yet");
}
