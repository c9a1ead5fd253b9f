import type { DurableObject } from "cloudflare:workers";
import type { ObjectOf } from "../../../shared/storage/objects.ts";

// The types of RPC turn `unknown`, which client data is, into `never`; the calls are what the class says.
export type AllCalls = Omit<ObjectOf<Env["THREADS"]>, keyof DurableObject | "alarm">;
export type ThreadCalls = Omit<AllCalls, "withFilters">;

type Answers = { [M in keyof ThreadCalls]: Awaited<ReturnType<ThreadCalls[M]>> };

/** What each call says of a thread that its caller may not see: what it says of one that is not there. */
const NOT_FOUND_RESULTS = {
  createThread: null,
  getThread: null,
  getThreadWithin: false,
  patchThread: "thread_missing",
  pruneThread: false,
  copyThread: null,
  exportHead: null,
  exportPage: null,
  followThread: null,
  deleteThread: false,
  createRun: { ok: false, refusal: "thread_missing" },
  streamRun: { ok: false, refusal: "thread_missing" },
  waitRun: { ok: false, refusal: "thread_missing" },
  followRun: null,
  joinRun: null,
  getRun: null,
  listRuns: null,
  cancelRun: false,
  cancelRuns: 0,
  deleteRun: false,
  getState: { missing: "thread" },
  getHistory: { missing: "thread" },
  updateState: { missing: "thread" },
  commandRun: { ok: false, refusal: "thread_missing" },
  followEvents: null,
  isVisible: false,
  readTree: { tree: null, last_event: 0 },
  getQueue: { pending: 0, running: 0, since: null },
} as const satisfies Answers;

type Method = keyof typeof NOT_FOUND_RESULTS;

export type FilteredCall = {
  [M in Method]: { method: M; args: Parameters<ThreadCalls[M]> };
}[Method];

/** Only what is in the table can be called so. */
export function notFoundResult({ method }: FilteredCall): unknown {
  if (Object.hasOwn(NOT_FOUND_RESULTS, method)) return NOT_FOUND_RESULTS[method];
  throw new Error(`A thread that some may not see has no call "${method}".`);
}
