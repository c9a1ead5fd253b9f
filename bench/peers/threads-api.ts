import type { Peer } from "./peer.ts";

type Send = (path: string, body?: unknown) => Promise<unknown>;

/** Calls of LangGraph's API. A key is a thread. `fields` are those of each run. */
export function threadsApi(
  send: Send,
  fields: Record<string, unknown> = {},
): Pick<Peer, "run" | "enqueue" | "steps"> {
  const threads = new Map<string, Promise<string>>();
  const create = async () => {
    const { thread_id } = (await send("/threads", {})) as { thread_id: string };
    return `/threads/${thread_id}`;
  };
  const threadOf = (key: string) => {
    const thread = threads.get(key) ?? create();
    threads.set(key, thread);
    return thread;
  };
  const bodyOf = (left: number) => ({
    ...{ assistant_id: "steps", input: { left }, multitask_strategy: "enqueue" },
    ...fields,
  });
  return {
    run: async (key, steps) => send(`${await threadOf(key)}/runs/wait`, bodyOf(steps)),
    enqueue: async (key, steps) => send(`${await threadOf(key)}/runs`, bodyOf(steps)),
    steps: async (key) => {
      // A server in memory forgets its threads when it is killed.
      const state = await send(`${await threadOf(key)}/state`).catch(() => null);
      return (state as { values: { count?: number } } | null)?.values.count ?? 0;
    },
  };
}
