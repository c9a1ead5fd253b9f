import { log } from "../../../shared/log.ts";
import type { StoredRun } from "../contract/stored-run.ts";
import { type Channel, type ProtocolEvent, RowEvents } from "./event.ts";
import type { EventRow } from "./event-row.ts";
import { InputRequests, toPendingInterrupts } from "./input-requests.ts";
import { Messages } from "./messages.ts";
import {
  type AgentStatus,
  type AgentTree,
  agentNameOf,
  agentStatusOf,
  Namespaces,
  type TaskUpdate,
} from "./namespaces.ts";
import { toIndependent, toTask, toUpdates, toValues } from "./payloads.ts";

type Row = Pick<EventRow, "id" | "event" | "data">;
/** `protocol`: the tasks of a run of the v2 protocol refer to the values of their graph instead of repeating them. */
export type ReadRun = { run_id: string; graph_id: string; protocol?: "v2" | undefined };
type Part = { name: string; namespace: string[]; data: string };

const CUT_OFF = "The run ended before the end of this message.";

/**
 * Converts the log of one run, from its first row, to protocol events. Parses only the data that the wanted channels
 * need. The sequence number of an event is the same for all sets of channels.
 */
export class RunEvents {
  readonly #runId: string;
  readonly #graphName: string;
  readonly #wants: ReadonlySet<Channel>;
  readonly #namespaces = new Namespaces();
  readonly #messages = new Messages();
  /** `null` when the channel is not wanted. */
  readonly #inputs: InputRequests | null;
  /** Latest values of each graph: inputs of tasks may refer to them. `null` when no wanted event has such an input. */
  readonly #latest: Map<string, string> | null;
  /** Whether an attempt of the run has started. */
  #hasStarted = false;
  /** Whether the run streams its tasks: the end of a task closes its messages. */
  #hasTasks = false;
  /** Only the first skipped row is logged. */
  #hasLoggedSkip = false;

  constructor({ run_id, graph_id, protocol }: ReadRun, wants: ReadonlySet<Channel>) {
    this.#runId = run_id;
    this.#graphName = graph_id;
    this.#wants = wants;
    this.#latest = protocol === "v2" && wants.has("tasks") ? new Map() : null;
    this.#inputs = wants.has("input") ? new InputRequests() : null;
  }

  toProtocolEvents(row: Row, at: number): ProtocolEvent[] {
    const events = new RowEvents(row.id, at);
    const [name = "", ...namespace] = row.event.split("|");
    this.#skipInvalid(() => {
      if (name === "metadata") this.#emitStart(events);
      else this.#emitPart({ name, namespace, data: row.data }, events);
    });
    return events.inOrder();
  }

  /** Emits the end of a run. `run` is `null` after a rollback. */
  end(run: StoredRun | null, row_id: number, at: number): ProtocolEvent[] {
    const events = new RowEvents(row_id, run?.ended_at ?? at);
    const status = run === null ? "interrupted" : agentStatusOf(run);
    this.#skipInvalid(() => {
      if (!this.#wants.has("messages")) return;
      if (status === "completed") this.#messages.closeAll(events);
      else this.#messages.abandonAll(CUT_OFF, events, "closed_at_end");
    });
    if (this.#wants.has("lifecycle")) this.#namespaces.endAll(status, events, "ended_at_end");
    const interrupts = Object.values(run?.interrupts ?? {}).flatMap(toPendingInterrupts);
    this.#inputs?.request([], interrupts, events, "requested_at_end");
    this.#emitRootLifecycle("root_ended", status, events, run?.error ?? null);
    return events.inOrder();
  }

  /** Skips invalid rows: the agent's code can write any JSON. */
  #skipInvalid(work: () => void) {
    try {
      work();
    } catch (error) {
      if (this.#hasLoggedSkip) return;
      log.warn("event_skipped", { run_id: this.#runId, error: String(error) });
      this.#hasLoggedSkip = true;
    }
  }

  tree(status: AgentStatus): AgentTree {
    return this.#namespaces.tree({ namespace: [], graph_name: this.#graphName, status });
  }

  // Each attempt begins with a metadata row, which ends what the previous attempt left open.
  #emitStart(events: RowEvents) {
    if (this.#hasStarted) {
      const message = "The attempt of the run that emitted this message was lost.";
      if (this.#wants.has("messages"))
        this.#messages.abandonAll(message, events, "abandoned_before");
      if (this.#wants.has("lifecycle")) this.#namespaces.endAll("failed", events, "ended_before");
      this.#namespaces.clear();
    }
    this.#hasStarted = true;
    this.#emitRootLifecycle("root_started", "running", events, null);
  }

  #emitRootLifecycle(
    stage: "root_started" | "root_ended",
    status: AgentStatus,
    events: RowEvents,
    error: StoredRun["error"],
  ) {
    if (!this.#wants.has("lifecycle")) return;
    const failure = error && JSON.stringify({ error: error.error, message: error.message });
    const data = { event: status, graph_name: this.#graphName, ...(failure && { error: failure }) };
    const content = { method: "lifecycle", namespace: [], data: JSON.stringify(data) };
    events.add(stage, content, this.#runId);
  }

  #emitPart(part: Part, events: RowEvents) {
    const { name, namespace, data } = part;
    if (this.#wants.has("lifecycle")) {
      this.#namespaces.ensureStarted(namespace, events, () => agentNameOf(name, data));
    }
    switch (name) {
      case "values":
        return this.#emitValues(part, events);
      case "updates":
        return this.#emitUpdates(part, events);
      case "tasks":
        return this.#emitTask(part, events);
      case "checkpoints":
      case "custom":
      case "tools":
        if (this.#wants.has(name)) {
          const content = toIndependent(name, data, namespace);
          events.add("main", { method: name, namespace, ...content });
        }
        return;
      default:
        if (this.#wants.has("messages")) this.#emitMessage(part, events);
    }
  }

  #emitValues({ namespace, data: text }: Part, events: RowEvents) {
    this.#inputs?.requestFrom(namespace, text, events);
    this.#latest?.set(namespace.join("|"), text);
    if (!this.#wants.has("values")) return;
    const data = toValues(text);
    if (data !== null) events.add("main", { method: "values", namespace, data });
  }

  #emitUpdates({ namespace, data: text }: Part, events: RowEvents) {
    this.#inputs?.requestFrom(namespace, text, events);
    if (this.#wants.has("messages") && !this.#hasTasks)
      this.#messages.closeOfNode(namespace, text, events);
    if (!this.#wants.has("updates")) return;
    for (const { node, data } of toUpdates(text)) {
      events.add("main", { method: "updates", namespace, node, data });
    }
  }

  #emitTask({ namespace, data }: Part, events: RowEvents) {
    this.#hasTasks = true;
    const task = this.#mustParseTask(data) ? (JSON.parse(data) as TaskUpdate) : null;
    if (task && "result" in task) this.#endTask(namespace, task, events);
    else if (task) this.#namespaces.beginTask(task);
    if (!this.#wants.has("tasks")) return;
    const content = toTask(data, this.#latest?.get(namespace.join("|")));
    events.add("main", { method: "tasks", namespace, data: content });
  }

  /** Drops the values of the graphs within a task: each call of a subgraph is another graph. */
  #forgetWithin(namespace: string[]) {
    const task = namespace.join("|");
    for (const graph of this.#latest?.keys() ?? []) {
      if (graph === task || graph.startsWith(`${task}|`)) this.#latest?.delete(graph);
    }
  }

  // The start of a task is needed only for `lifecycle`, when the task calls a tool: the call is the cause of its
  // namespace.
  #mustParseTask(data: string): boolean {
    if (data.includes('"result":')) {
      return ["messages", "lifecycle", "input", "tasks"].some((name) =>
        this.#wants.has(name as Channel),
      );
    }
    return this.#wants.has("lifecycle") && data.includes('"tool_call"');
  }

  #endTask(namespace: string[], task: TaskUpdate, events: RowEvents) {
    const within = [...namespace, `${task.name}:${task.id}`];
    this.#forgetWithin(within);
    if (this.#wants.has("messages")) this.#messages.closeWithin(within, events);
    this.#inputs?.request(namespace, toPendingInterrupts(task.interrupts), events);
    if (this.#wants.has("lifecycle")) this.#namespaces.endTask(namespace, task, events);
  }

  // A run may stream both `messages` and `messages-tuple`: `Messages` deduplicates them by message id.
  #emitMessage({ name, namespace, data }: Part, events: RowEvents) {
    if (name === "messages") this.#messages.addTuple(namespace, data, events);
    else if (name === "messages/partial") this.#messages.addPartial(data, events);
    else if (name === "messages/complete") this.#messages.addComplete(data, events);
  }
}
