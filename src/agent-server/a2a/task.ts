import { type TextPart, toAnswer, toHistory, toPart } from "./messages.ts";

export type TaskState =
  | "submitted"
  | "working"
  | "input-required"
  | "completed"
  | "canceled"
  | "failed";

type RunStatus = "pending" | "running" | "success" | "error" | "timeout" | "interrupted";

/** Status and result of a task's run. */
export type TaskSnapshot = {
  task_id: string;
  thread_id: string;
  run_id: string;
  status: RunStatus;
  updated_at: string;
  error: { error: string; message: string } | null;
  values: unknown;
  /** Pending interrupts. */
  interrupts: { id?: string; value?: unknown }[];
  /**
   * Whether the thread is interrupted: the graph stopped at an interrupt, before or after a node, or by a cancellation.
   */
  is_waiting?: boolean;
  /** Whether the graph stopped before its end, and the thread has a later run. */
  is_abandoned?: boolean;
};

const STATES = {
  pending: "submitted",
  running: "working",
  success: "completed",
  error: "failed",
  timeout: "failed",
  interrupted: "canceled",
} as const satisfies Record<RunStatus, TaskState>;

const ENDED: TaskState[] = ["completed", "canceled", "failed"];

export type Task = ReturnType<typeof toTask>;
export type Status = ReturnType<typeof toStatus>;
export type TaskArtifact = ReturnType<typeof toArtifacts>[number];
export type TaskMessage = NonNullable<Status["message"]> | NonNullable<Task["history"]>[number];

type TaskKey = { taskId: string; contextId: string };
export type TaskEvent =
  | Task
  | (TaskKey & { kind: "status-update"; status: Status; final: boolean })
  | (TaskKey & {
      kind: "artifact-update";
      artifact: TaskArtifact;
      append: boolean;
      lastChunk: boolean;
    });

/** Converts results to those of one version of the protocol. */
export type ResultFormat = { task: (task: Task) => unknown; event: (event: TaskEvent) => unknown };

export const V0_3: ResultFormat = { task: (task) => task, event: (event) => event };

/** Id of the only artifact of a task. Streams send it in chunks. */
export const ARTIFACT_ID = "answer";

export function stateOf({ status, is_waiting, is_abandoned }: TaskSnapshot): TaskState {
  if (status !== "success") return STATES[status];
  if (is_waiting) return "input-required";
  return is_abandoned ? "canceled" : "completed";
}

export function isEnded(task: TaskSnapshot): boolean {
  return ENDED.includes(stateOf(task));
}

export function toTask(task: TaskSnapshot, historyLength = 0) {
  const { task_id, thread_id, values } = task;
  const ids = { contextId: thread_id, taskId: task_id };
  const history = toHistory(values, historyLength).map(({ text, ...message }) => ({
    kind: "message" as const,
    ...message,
    ...ids,
    parts: [{ kind: "text" as const, text }],
  }));
  return {
    kind: "task" as const,
    id: task_id,
    contextId: thread_id,
    status: toStatus(task),
    artifacts: toArtifacts(task),
    ...(history.length > 0 && { history }),
  };
}

export function toArtifacts(task: TaskSnapshot) {
  if (stateOf(task) !== "completed") return [];
  return [{ artifactId: ARTIFACT_ID, name: ARTIFACT_ID, parts: toAnswer(task.values) }];
}

export function toStatus(task: TaskSnapshot) {
  const parts = toStatusParts(task);
  const { task_id, thread_id, updated_at } = task;
  const message = {
    kind: "message" as const,
    role: "agent" as const,
    messageId: task.interrupts[0]?.id ?? `${task_id}-status`,
    contextId: thread_id,
    taskId: task_id,
    parts,
  };
  return {
    state: stateOf(task),
    timestamp: updated_at,
    ...(parts.length > 0 && { message }),
  };
}

/** Returns the values of the pending interrupts, or else the error, if any. */
function toStatusParts(task: TaskSnapshot) {
  if (stateOf(task) === "input-required") {
    return task.interrupts.map(({ value }) => toPart(value));
  }
  if (task.error === null) return [];
  const { error, message } = task.error;
  return [{ kind: "text", text: `${error}: ${message}` } satisfies TextPart];
}
