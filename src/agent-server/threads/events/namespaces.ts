import type { StoredRun } from "../contract/stored-run.ts";
import type { RowEvents } from "./event.ts";

export type AgentStatus = "started" | "running" | "completed" | "failed" | "interrupted";

export type AgentTree = {
  namespace: string[];
  status: AgentStatus;
  graph_name: string;
  children?: AgentTree[];
};

type Cause = { type: "toolCall"; tool_call_id: string };
type AgentNode = { namespace: string[]; graph_name: string; status: AgentStatus };

/** Row of `tasks`: the start of a task or, with `result`, its end. */
export type TaskUpdate = {
  id: string;
  name: string;
  input?: unknown;
  result?: unknown;
  error?: unknown;
  interrupts?: unknown[];
  metadata?: { lc_agent_name?: unknown };
};

/** Subgraphs and tasks below the root graph of one run, with their status. */
export class Namespaces {
  readonly #nodes = new Map<string, AgentNode>();
  /** Ids of tool calls by the id of their task. */
  readonly #calls = new Map<string, string>();

  /** Emits the start of each namespace at its first row. `agent_name` returns the agent that the row names, if any. */
  ensureStarted(namespace: string[], events: RowEvents, agent_name: () => string | null) {
    for (let length = 1; length <= namespace.length; length++) {
      const prefix = namespace.slice(0, length);
      const key = prefix.join("|");
      if (this.#nodes.has(key)) continue;
      const agent = length === namespace.length ? agent_name() : null;
      const segment = prefix.at(-1) ?? "";
      const graph_name = agent ?? segment.split(":")[0] ?? segment;
      this.#nodes.set(key, { namespace: prefix, graph_name, status: "started" });
      const cause = agent === null ? null : this.#causeOf(segment);
      const data = { event: "started", graph_name, ...(cause && { cause }) };
      addLifecycle(events, "started", prefix, data);
    }
  }

  beginTask({ id, input }: TaskUpdate) {
    const call = callOf(input);
    if (call !== null) this.#calls.set(id, call);
  }

  endTask(namespace: string[], task: TaskUpdate, events: RowEvents) {
    const prefix = [...namespace, `${task.name}:${task.id}`];
    this.#end(statusOfTask(task), events, "ended", (node) => isWithin(node.namespace, prefix));
  }

  endAll(status: AgentStatus, events: RowEvents, stage: "ended_before" | "ended_at_end") {
    this.#end(status, events, stage, () => true);
  }

  tree(root: AgentNode): AgentTree {
    const children = [...this.#nodes.values()].filter(
      ({ namespace }) =>
        namespace.length === root.namespace.length + 1 && isWithin(namespace, root.namespace),
    );
    if (children.length === 0) return { ...root };
    return { ...root, children: children.map((child) => this.tree(child)) };
  }

  /** Forgets all namespaces, so that the next attempt emits their starts again. */
  clear() {
    this.#nodes.clear();
  }

  // Ends the innermost namespaces first.
  #end(
    status: AgentStatus,
    events: RowEvents,
    stage: "ended_before" | "ended" | "ended_at_end",
    isMatch: (node: AgentNode) => boolean,
  ) {
    const open = [...this.#nodes.values()].filter((node) => node.status === "started");
    const meant = open.filter(isMatch).sort((a, b) => b.namespace.length - a.namespace.length);
    for (const node of meant) {
      node.status = status;
      const { namespace, graph_name } = node;
      addLifecycle(events, stage, namespace, { event: status, graph_name });
    }
  }

  #causeOf(segment: string): Cause | null {
    const tool_call_id = this.#calls.get(segment.slice(segment.indexOf(":") + 1));
    return tool_call_id === undefined ? null : { type: "toolCall", tool_call_id };
  }
}

function addLifecycle(
  events: RowEvents,
  stage: "started" | "ended_before" | "ended" | "ended_at_end",
  namespace: string[],
  data: object,
) {
  events.add(stage, { method: "lifecycle", namespace, data: JSON.stringify(data) });
}

export function agentStatusOf({
  status,
  interrupts,
}: Pick<StoredRun, "status" | "interrupts">): AgentStatus {
  switch (status) {
    case "pending":
      return "started";
    case "running":
      return "running";
    case "interrupted":
      return "interrupted";
    case "error":
    case "timeout":
      return "failed";
    case "success":
      return interrupts === null ? "completed" : "interrupted";
  }
}

function statusOfTask({ error, interrupts }: TaskUpdate): AgentStatus {
  if (error !== undefined && error !== null) return "failed";
  return interrupts && interrupts.length > 0 ? "interrupted" : "completed";
}

export function isWithin(namespace: string[], prefix: string[]): boolean {
  return prefix.every((segment, n) => segment === namespace[n]);
}

/** Returns the id of the tool call in a task's input: in `tool_call`, or the first of a list. */
function callOf(input: unknown): string | null {
  if (typeof input !== "object" || input === null) return null;
  const call: unknown = Array.isArray(input)
    ? input[0]
    : (input as { tool_call?: unknown }).tool_call;
  if (typeof call !== "object" || call === null || !("id" in call)) return null;
  return typeof call.id === "string" ? call.id : null;
}

/** Returns the name of a subagent, `null` when the row has none. The first row of its graph is a task with the name. */
export function agentNameOf(name: string, data: string): string | null {
  if (name !== "tasks" || !data.includes('"lc_agent_name"')) return null;
  const { metadata } = JSON.parse(data) as TaskUpdate;
  const agent = metadata?.lc_agent_name;
  return typeof agent === "string" && agent !== "" ? agent : null;
}
