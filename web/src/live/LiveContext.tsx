import { createContext, useContext, useSyncExternalStore } from "react";
import type { LiveSnapshot, LiveSocket } from "./socket";

export const LiveContext = createContext<LiveSocket | null>(null);

export function useLiveSocket(): LiveSocket {
  const socket = useContext(LiveContext);
  if (socket === null) throw new Error("LiveContext is missing");
  return socket;
}

/** The state of the connection. */
export function useLive(): LiveSnapshot {
  const socket = useLiveSocket();
  return useSyncExternalStore(socket.subscribe, socket.getSnapshot);
}
