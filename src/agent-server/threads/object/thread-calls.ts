import type { RunMethods } from "./run-methods.ts";
import type { EventMethods } from "./sockets/event-methods.ts";
import type { StateMethods } from "./state-methods.ts";
import type { ThreadMethods } from "./thread-methods.ts";

type Methods = ThreadMethods & RunMethods & StateMethods & EventMethods;

/** The methods of a thread. The RPC types of Workers would turn `unknown`, the type of client data, into `never`. */
export type ThreadCalls = { [M in keyof Methods]: Methods[M] };

type Results = { [M in keyof ThreadCalls]: Awaited<ReturnType<ThreadCalls[M]>> };

/** The results for a thread that the filters hide: those for a missing thread, which a call cannot create. */
const NOT_FOUND_RESULTS = {
  createThread: null,
  getThread: null,
  getThreadWithin: { ok: false, refusal: "thread_missing" },
  patchThread: { ok: false, refusal: "thread_missing" },
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
  hasRun: false,
  listRuns: { ok: false, refusal: "thread_missing" },
  cancelRun: false,
  cancelRuns: 0,
  deleteRun: false,
  getState: { ok: false, error: "thread_missing" },
  getHistory: { ok: false, error: "thread_missing" },
  updateState: { ok: false, error: "thread_missing" },
  commandRun: { ok: false, refusal: "thread_missing" },
  followEvents: null,
  isVisible: false,
  readTree: { tree: null, last_event: 0 },
  readLastEvent: 0,
  getWaiting: null,
  getQueue: { pending: 0, running: 0, since: null },
} as const satisfies Results;

type Method = keyof typeof NOT_FOUND_RESULTS;

export type ThreadCall = { [M in Method]: { method: M; args: Parameters<ThreadCalls[M]> } }[Method];

type EndedCall = Extract<ThreadCall, { method: "followRun" | "hasRun" | "joinRun" }>;

/** Whether the call is answered for a run whose temporary thread has left its object, too. */
export function isOfEnded(call: ThreadCall): call is EndedCall {
  return ["followRun", "hasRun", "joinRun"].includes(call.method);
}

/** Result of an object that several threads share, and that does not have this one. */
export const ELSEWHERE = "elsewhere";

export function beginsTemporary(thread_id: string, { method, args }: ThreadCall): boolean {
  if (method !== "createRun" && method !== "streamRun" && method !== "waitRun") return false;
  const thread = args[0].create_thread;
  return thread?.temporary === true && thread.thread_id === thread_id;
}

/** @throws for a name that is not in the table: a caller can name any method */
export function notFoundResult(method: Method): unknown {
  if (Object.hasOwn(NOT_FOUND_RESULTS, method)) return NOT_FOUND_RESULTS[method];
  throw new Error(`A thread has no method "${method}".`);
}
