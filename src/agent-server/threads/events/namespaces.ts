import type { RowEvents } from "./event.ts";

export type AgentStatus = "started" | "running" | "completed" | "failed" | "interrupted";

export type AgentTree = {
  namespace: string[];
  status: AgentStatus;
  graph_name: string;
  children?: AgentTree[];
};

type Cause = { type: "toolCall"; tool_call_id: string };
type Known = { namespace: string[]; graph_name: string; status: AgentStatus };

/** What a row of `tasks` says of a task: that it begins, or how it ended. */
export type TaskNews = {
  id: string;
  name: string;
  input?: unknown;
  result?: unknown;
  error?: unknown;
  interrupts?: unknown[];
  metadata?: { lc_agent_name?: unknown };
};

/** The graphs and nodes below the root of one run: when each was first heard of, and how it ended. */
export class Namespaces {
  readonly #known = new Map<string, Known>();
  /** Of tasks that call a tool: which call it is. */
  readonly #calls = new Map<string, string>();

  /** `agent_name`: what the first row of a namespace says its agent is called. */
  see(namespace: string[], events: RowEvents, agent_name: () => string | null) {
    for (let length = 1; length <= namespace.length; length++) {
      const prefix = namespace.slice(0, length);
      const key = prefix.join("|");
      if (this.#known.has(key)) continue;
      const agent = length === namespace.length ? agent_name() : null;
      const segment = prefix.at(-1) ?? "";
      const graph_name = agent ?? segment.split(":")[0] ?? segment;
      this.#known.set(key, { namespace: prefix, graph_name, status: "started" });
      const cause = agent === null ? null : this.#causeOf(segment);
      const data = { event: "started", graph_name, ...(cause && { cause }) };
      tell(events, "started", prefix, data);
    }
  }

  beginTask({ id, input }: TaskNews) {
    const call = callOf(input);
    if (call !== null) this.#calls.set(id, call);
  }

  endTask(namespace: string[], task: TaskNews, events: RowEvents) {
    const prefix = [...namespace, `${task.name}:${task.id}`];
    this.#end(statusOf(task), events, "ended", (known) => isWithin(known.namespace, prefix));
  }

  endAll(status: AgentStatus, events: RowEvents, stage: "left" | "ended_at_end") {
    this.#end(status, events, stage, () => true);
  }

  tree(root: Known): AgentTree {
    const children = [...this.#known.values()].filter(
      ({ namespace }) =>
        namespace.length === root.namespace.length + 1 && isWithin(namespace, root.namespace),
    );
    if (children.length === 0) return { ...root };
    return { ...root, children: children.map((child) => this.tree(child)) };
  }

  /** A namespace that is taken up again begins anew. */
  forget() {
    this.#known.clear();
  }

  // The innermost first, as they end.
  #end(
    status: AgentStatus,
    events: RowEvents,
    stage: "left" | "ended" | "ended_at_end",
    isMeant: (known: Known) => boolean,
  ) {
    const open = [...this.#known.values()].filter((known) => known.status === "started");
    const meant = open.filter(isMeant).sort((a, b) => b.namespace.length - a.namespace.length);
    for (const known of meant) {
      known.status = status;
      const { namespace, graph_name } = known;
      tell(events, stage, namespace, { event: status, graph_name });
    }
  }

  #causeOf(segment: string): Cause | null {
    const tool_call_id = this.#calls.get(segment.slice(segment.indexOf(":") + 1));
    return tool_call_id === undefined ? null : { type: "toolCall", tool_call_id };
  }
}

function tell(
  events: RowEvents,
  stage: "started" | "left" | "ended" | "ended_at_end",
  namespace: string[],
  data: object,
) {
  events.tell(stage, { method: "lifecycle", namespace, data: JSON.stringify(data) });
}

function statusOf({ error, interrupts }: TaskNews): AgentStatus {
  if (error !== undefined && error !== null) return "failed";
  return interrupts && interrupts.length > 0 ? "interrupted" : "completed";
}

export function isWithin(namespace: string[], prefix: string[]): boolean {
  return prefix.every((segment, n) => segment === namespace[n]);
}

/** A node of tools is given its call, or all of them. */
function callOf(input: unknown): string | null {
  if (typeof input !== "object" || input === null) return null;
  const call: unknown = Array.isArray(input)
    ? input[0]
    : (input as { tool_call?: unknown }).tool_call;
  if (typeof call !== "object" || call === null || !("id" in call)) return null;
  return typeof call.id === "string" ? call.id : null;
}
