import { isRecord } from "../../shared/guards.ts";
import { type TextPart, toAnswer, toHistory, toPart } from "./messages.ts";

export type TaskState =
  | "submitted"
  | "working"
  | "input-required"
  | "completed"
  | "canceled"
  | "failed";

type RunStatus = "pending" | "running" | "success" | "error" | "timeout" | "interrupted";

/** How a task's run stands, and what it left. */
export type Standing = {
  task_id: string;
  thread_id: string;
  status: RunStatus;
  updated_at: string;
  error: { error: string; message: string } | null;
  values: unknown;
  /** What the graph asks and nobody has answered. */
  questions: { id?: string; value?: unknown }[];
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
export type Artifact = ReturnType<typeof toArtifacts>[number];
export type TaskMessage = NonNullable<Status["message"]> | NonNullable<Task["history"]>[number];

type TaskKey = { taskId: string; contextId: string };
export type TaskEvent =
  | Task
  | (TaskKey & { kind: "status-update"; status: Status; final: boolean })
  | (TaskKey & {
      kind: "artifact-update";
      artifact: Artifact;
      append: boolean;
      lastChunk: boolean;
    });

/** How one version of the protocol writes results. */
export type Wire = { task: (task: Task) => unknown; event: (event: TaskEvent) => unknown };

export const V0_3: Wire = { task: (task) => task, event: (event) => event };

/** One artifact of each task: what its stream tells in pieces, the task has whole. */
export const ARTIFACT_ID = "answer";

export function stateOf({ status, questions }: Standing): TaskState {
  return status === "success" && questions.length > 0 ? "input-required" : STATES[status];
}

export function isEnded(standing: Standing): boolean {
  return ENDED.includes(stateOf(standing));
}

export function toTask(standing: Standing, historyLength = 0) {
  const { task_id, thread_id, values } = standing;
  const place = { contextId: thread_id, taskId: task_id };
  const history = toHistory(values, historyLength).map(({ text, ...message }) => ({
    kind: "message" as const,
    ...message,
    ...place,
    parts: [{ kind: "text" as const, text }],
  }));
  return {
    kind: "task" as const,
    id: task_id,
    contextId: thread_id,
    status: toStatus(standing),
    artifacts: toArtifacts(standing),
    ...(history.length > 0 && { history }),
  };
}

export function toArtifacts(standing: Standing) {
  if (stateOf(standing) !== "completed") return [];
  return [{ artifactId: ARTIFACT_ID, name: ARTIFACT_ID, parts: toAnswer(standing.values) }];
}

export function toStatus(standing: Standing) {
  const parts = toStatusParts(standing);
  const { task_id, thread_id, updated_at } = standing;
  const message = {
    kind: "message" as const,
    role: "agent" as const,
    messageId: standing.questions[0]?.id ?? `${task_id}-status`,
    contextId: thread_id,
    taskId: task_id,
    parts,
  };
  return {
    state: stateOf(standing),
    timestamp: updated_at,
    ...(parts.length > 0 && { message }),
  };
}

/** What is asked, or what went wrong. */
function toStatusParts(standing: Standing) {
  if (stateOf(standing) === "input-required") {
    return standing.questions.map((question) =>
      toPart(isRecord(question) ? question.value : question),
    );
  }
  if (standing.error === null) return [];
  const { error, message } = standing.error;
  return [{ kind: "text", text: `${error}: ${message}` } satisfies TextPart];
}
