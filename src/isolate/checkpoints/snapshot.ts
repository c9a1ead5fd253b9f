import type { StateSnapshot } from "@langchain/langgraph";
import type { Checkpoint } from "../checkpoint-contract.ts";
import type { ThreadSummary } from "../contract.ts";
import { toFailure } from "../failure.ts";
import { toWire } from "../wire.ts";

export type Snapshot = StateSnapshot;
type Task = Snapshot["tasks"][number];
type Configurable = Record<string, unknown> | undefined;

/** Converts a snapshot of LangGraph to a ThreadState of the API. */
export function toThreadState(snapshot: Snapshot): Record<string, unknown> {
  const tasks = snapshot.tasks ?? [];
  return {
    values: snapshot.values ?? {},
    next: snapshot.next ?? [],
    tasks: tasks.map(toTask),
    ...(snapshot.metadata && { metadata: snapshot.metadata }),
    created_at: snapshot.createdAt ?? null,
    checkpoint: checkpointOf(snapshot.config?.configurable),
    parent_checkpoint: checkpointOf(snapshot.parentConfig?.configurable),
    interrupts: tasks.flatMap((task) => task.interrupts ?? []),
  };
}

function toTask(task: Task) {
  const state = task.state as Snapshot | { configurable?: Configurable } | undefined;
  const isSnapshot = state !== undefined && "values" in state;
  return {
    id: task.id,
    name: task.name,
    path: task.path ?? null,
    error: task.error === undefined ? null : toErrorText(task.error),
    interrupts: task.interrupts ?? [],
    checkpoint: state && !isSnapshot ? toPartialCheckpoint(state.configurable) : null,
    state: isSnapshot ? toThreadState(state) : null,
    result: (task as { result?: unknown }).result ?? null,
  };
}

// useStream parses the error of a task as JSON text `{"error","message"}`; other clients read `name`.
function toErrorText(error: unknown): string {
  if (typeof error === "string") return error;
  const { name = "Error", message } = error as { name?: string; message?: string };
  return JSON.stringify({ error: name, name, message: message ?? toFailure(error).message });
}

function checkpointOf(configurable: Configurable): Checkpoint | null {
  return configurable?.checkpoint_id ? toCheckpoint(configurable) : null;
}

function toPartialCheckpoint(configurable: Configurable) {
  const { thread_id, checkpoint_ns, checkpoint_id } = configurable ?? {};
  return { thread_id, checkpoint_ns, ...(checkpoint_id ? { checkpoint_id } : {}) };
}

export function toCheckpoint(configurable: Record<string, unknown>): Checkpoint {
  const { thread_id, checkpoint_id, checkpoint_ns, checkpoint_map } = configurable;
  return {
    thread_id: String(thread_id),
    checkpoint_id: String(checkpoint_id),
    checkpoint_ns: typeof checkpoint_ns === "string" ? checkpoint_ns : "",
    checkpoint_map: (checkpoint_map as Checkpoint["checkpoint_map"]) ?? null,
  };
}

/** Returns the thread's summary. `valuesOf` returns the values that are kept in it. */
export function toSummary(
  snapshot: Snapshot,
  valuesOf: (values: unknown) => unknown,
): ThreadSummary {
  const waiting = (snapshot.tasks ?? []).filter((task) => task.interrupts?.length);
  return {
    values: toWire(valuesOf(snapshot.values ?? {})),
    // `next` of LangGraph omits a task that was answered once and then interrupts again.
    next: [...new Set([...(snapshot.next ?? []), ...waiting.map(({ name }) => name)])],
    interrupts: toWire(Object.fromEntries(waiting.map((task) => [task.id, task.interrupts]))),
  };
}
