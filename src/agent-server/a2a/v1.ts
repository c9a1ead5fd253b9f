import { isRecord } from "../../shared/guards.ts";
import type { RpcAnswer, RpcRequest } from "../../shared/http/json-rpc.ts";
import type { DataPart, TextPart } from "./messages.ts";
import { A2A_ERRORS } from "./schema.ts";
import type { ResultFormat, Status, Task, TaskArtifact, TaskEvent, TaskMessage } from "./task.ts";

/** Maps each method of A2A 1.0 to the one of 0.3 that does the same. */
const METHODS: Record<string, string> = {
  SendMessage: "message/send",
  SendStreamingMessage: "message/stream",
  GetTask: "tasks/get",
  CancelTask: "tasks/cancel",
  SubscribeToTask: "tasks/resubscribe",
  CreateTaskPushNotificationConfig: "tasks/pushNotificationConfig/set",
  GetTaskPushNotificationConfig: "tasks/pushNotificationConfig/get",
  ListTaskPushNotificationConfigs: "tasks/pushNotificationConfig/list",
  DeleteTaskPushNotificationConfig: "tasks/pushNotificationConfig/delete",
};

const ROLES: Record<string, string> = { ROLE_USER: "user", ROLE_AGENT: "agent" };

export function isV1({ method }: RpcRequest): boolean {
  return Object.hasOwn(METHODS, method);
}

/** Reads a request of 1.0 as one of 0.3. */
export function fromV1({ id, method, params }: RpcRequest): RpcRequest {
  const { message, configuration, tenant: _tenant, ...rest } = params;
  const read = {
    ...rest,
    ...(message !== undefined && { message: fromMessage(message) }),
    ...(configuration !== undefined && { configuration: fromConfiguration(configuration) }),
  };
  return { id, method: METHODS[method] ?? method, params: read };
}

/** Converts a message. Writers of protobuf's JSON may send an empty text for a field without a value. */
function fromMessage(message: unknown): unknown {
  if (!isRecord(message)) return message;
  const { role, parts, contextId, taskId, ...rest } = message;
  return {
    ...rest,
    role: ROLES[String(role)] ?? role,
    parts: Array.isArray(parts) ? parts.map(fromPart) : parts,
    ...(contextId !== "" && { contextId }),
    ...(taskId !== "" && { taskId }),
  };
}

function fromPart(part: unknown): unknown {
  if (!isRecord(part)) return part;
  if (part.text !== undefined) return { kind: "text", text: part.text };
  if (part.raw !== undefined || part.url !== undefined) return { kind: "file", file: {} };
  const { data } = part;
  return { kind: "data", data: data === undefined || isRecord(data) ? data : { value: data } };
}

function fromConfiguration(configuration: unknown): unknown {
  if (!isRecord(configuration)) return configuration;
  const { returnImmediately, taskPushNotificationConfig, ...rest } = configuration;
  const blocking = returnImmediately !== true;
  return { ...rest, blocking, pushNotificationConfig: taskPushNotificationConfig };
}

/** Converts results to 1.0: `kind` and `final` are removed, and enums have protobuf's names. */
export const V1: ResultFormat = { task: toTask, event: toEvent };

function toEvent(event: TaskEvent): unknown {
  switch (event.kind) {
    case "task":
      return { task: toTask(event) };
    case "status-update": {
      const { kind: _kind, final: _final, status, ...rest } = event;
      return { statusUpdate: { ...rest, status: toStatus(status) } };
    }
    case "artifact-update": {
      const { kind: _kind, artifact, ...rest } = event;
      return { artifactUpdate: { ...rest, artifact: toArtifact(artifact) } };
    }
  }
}

function toTask({ kind: _kind, status, artifacts, history, ...rest }: Task) {
  return {
    ...rest,
    status: toStatus(status),
    artifacts: artifacts.map(toArtifact),
    ...(history && { history: history.map(toMessage) }),
  };
}

function toStatus({ state, message, ...rest }: Status) {
  const name = `TASK_STATE_${state.toUpperCase().replace("-", "_")}`;
  return { ...rest, state: name, ...(message && { message: toMessage(message) }) };
}

function toArtifact({ parts, ...rest }: TaskArtifact) {
  return { ...rest, parts: parts.map(toPart) };
}

function toMessage({ kind: _kind, role, parts, ...rest }: TaskMessage) {
  return { ...rest, role: `ROLE_${role.toUpperCase()}`, parts: parts.map(toPart) };
}

function toPart(part: TextPart | DataPart) {
  if (part.kind === "text") return { text: part.text };
  return { data: part.data, mediaType: "application/json" };
}

const REASONS = new Map<number, string>(
  Object.entries(A2A_ERRORS).map(([name, code]) => [code, name.toUpperCase()]),
);

/** Adds the reason to an error that A2A defines: https://a2a-protocol.org/v1.0.0/specification/, section 9.5. */
export function withErrorInfo(answer: RpcAnswer): RpcAnswer {
  const reason = REASONS.get(answer.error?.code ?? 0);
  if (!answer.error || reason === undefined) return answer;
  const type = "type.googleapis.com/google.rpc.ErrorInfo";
  const info = { "@type": type, reason, domain: "a2a-protocol.org" };
  return { ...answer, error: { ...answer.error, data: [info] } };
}
