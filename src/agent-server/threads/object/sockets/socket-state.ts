import { SerialQueue } from "../../../../shared/work/serial-queue.ts";
import { MAX_SOCKET_CHARACTERS } from "../../events/limits.ts";
import type { LogReader } from "../readers/log-reader.ts";
import type { ThreadStore } from "../storage/store.ts";
import { SendBudget } from "./send-budget.ts";

export type WatchedThread = {
  ctx: DurableObjectState;
  store: ThreadStore;
  isOver: (run_id: string) => boolean;
  isVisible: () => boolean;
};

/** State of a socket while its object is in memory. */
export type SocketState = {
  /** Keeps what is sent in order. */
  queue: SerialQueue;
  /** Whether a delivery is in the queue. */
  isDue: boolean;
  reader: LogReader | null;
  /** Epoch milliseconds of the last check of access since the thread exists, 0 before. */
  checkedAt: number;
  /** Epoch milliseconds until which the end of a run is held back: the socket may subscribe to more. */
  settlesAt: number;
  budget: SendBudget;
};

export function newSocketState(): SocketState {
  return {
    queue: new SerialQueue(),
    isDue: false,
    reader: null,
    checkedAt: 0,
    settlesAt: 0,
    budget: new SendBudget(MAX_SOCKET_CHARACTERS),
  };
}
