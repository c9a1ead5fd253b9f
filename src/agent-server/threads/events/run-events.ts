import { log } from "../../../shared/log.ts";
import type { EventRow } from "../log/events.ts";
import type { StoredRun } from "../storage/run-rows.ts";
import { type Channel, type ProtocolEvent, RowEvents } from "./event.ts";
import { Messages } from "./messages.ts";
import { type AgentStatus, type AgentTree, Namespaces, type TaskNews } from "./namespaces.ts";
import {
  type Asked,
  askedIn,
  questionsOf,
  toCheckpoint,
  toCustom,
  toTask,
  toTool,
  toUpdates,
  toValues,
} from "./payloads.ts";

type Row = Pick<EventRow, "id" | "event" | "data">;
type Part = { name: string; namespace: string[]; data: string };

const CUT_OFF = "The run ended before the end of this message.";

/**
 * The log of one run as events of the protocol. Reads the log from the run's beginning; which channels are
 * wanted changes how much is read of a row, never the place of an event.
 */
export class RunEvents {
  readonly #run_id: string;
  readonly #graph_name: string;
  readonly #wants: ReadonlySet<Channel>;
  readonly #namespaces = new Namespaces();
  readonly #messages = new Messages();
  readonly #requested = new Set<string>();
  /** What each graph's state was told to be last. */
  readonly #latest = new Map<string, string>();
  #isAgain = false;
  #isOdd = false;

  constructor(
    { run_id, graph_id }: { run_id: string; graph_id: string },
    wants: ReadonlySet<Channel>,
  ) {
    this.#run_id = run_id;
    this.#graph_name = graph_id;
    this.#wants = wants;
  }

  convert(row: Row, at: number): ProtocolEvent[] {
    const events = new RowEvents(row.id, at);
    const [name = "", ...namespace] = row.event.split("|");
    this.#tolerate(() => {
      if (name === "metadata") this.#begin(events);
      else this.#tell({ name, namespace, data: row.data }, events);
    });
    return events.inOrder();
  }

  /** What follows the last row of a run that is over. Null: the run was undone. */
  end(run: StoredRun | null, row_id: number, at: number): ProtocolEvent[] {
    const events = new RowEvents(row_id, run?.ended_at ?? at);
    const status = run === null ? "interrupted" : statusOf(run);
    this.#tolerate(() => {
      if (!this.#wants.has("messages")) return;
      if (status === "completed") this.#messages.closeAll(events);
      else this.#messages.abandonAll(CUT_OFF, events, "closed_at_end");
    });
    if (this.#wants.has("lifecycle")) this.#namespaces.endAll(status, events, "ended_at_end");
    const asked = Object.values(run?.interrupts ?? {}).flatMap(questionsOf);
    this.#request([], asked, events, "requested_at_end");
    this.#root("over", status, events, run?.error ?? null);
    return events.inOrder();
  }

  /** The agent's code can write any JSON: a row without the form of its kind is skipped, and the log stays readable. */
  #tolerate(work: () => void) {
    try {
      work();
    } catch (error) {
      if (!this.#isOdd) log.warn("event_skipped", { run_id: this.#run_id, error: String(error) });
      this.#isOdd = true;
    }
  }

  tree(status: AgentStatus): AgentTree {
    return this.#namespaces.tree({ namespace: [], graph_name: this.#graph_name, status });
  }

  // Each attempt begins with a row of metadata; what the one before was at is not told to its end.
  #begin(events: RowEvents) {
    if (this.#isAgain) {
      const message = "The attempt of the run that emitted this message was lost.";
      if (this.#wants.has("messages")) this.#messages.abandonAll(message, events, "abandoned");
      if (this.#wants.has("lifecycle")) this.#namespaces.endAll("failed", events, "left");
      this.#namespaces.forget();
    }
    this.#isAgain = true;
    this.#root("running", "running", events, null);
  }

  #root(
    stage: "running" | "over",
    event: AgentStatus,
    events: RowEvents,
    error: StoredRun["error"],
  ) {
    if (!this.#wants.has("lifecycle")) return;
    const failure = error && JSON.stringify({ error: error.error, message: error.message });
    const data = { event, graph_name: this.#graph_name, ...(failure && { error: failure }) };
    const told = { method: "lifecycle", namespace: [], data: JSON.stringify(data) };
    events.tell(stage, told, this.#run_id);
  }

  #tell(part: Part, events: RowEvents) {
    const { name, namespace, data } = part;
    if (this.#wants.has("lifecycle")) {
      this.#namespaces.see(namespace, events, () => agentNameOf(part));
    }
    switch (name) {
      case "values":
        return this.#values(part, events);
      case "updates":
        return this.#updates(part, events);
      case "tasks":
        return this.#task(part, events);
      case "checkpoints":
      case "custom":
      case "tools":
        if (this.#wants.has(name)) this.#main(name, namespace, data, events);
        return;
      default:
        if (this.#wants.has("messages")) this.#message(part, events);
    }
  }

  #main(
    method: "checkpoints" | "custom" | "tools",
    namespace: string[],
    text: string,
    events: RowEvents,
  ) {
    if (method === "custom") {
      events.tell("main", { method, namespace, ...toCustom(text) });
      return;
    }
    const data = method === "tools" ? toTool(text, namespace) : toCheckpoint(text);
    events.tell("main", { method, namespace, data });
  }

  #values({ namespace, data: text }: Part, events: RowEvents) {
    this.#request(namespace, this.#wants.has("input") ? askedIn(text) : [], events);
    if (this.#wants.has("tasks")) this.#latest.set(namespace.join("|"), text);
    if (!this.#wants.has("values")) return;
    const data = toValues(text);
    if (data !== null) events.tell("main", { method: "values", namespace, data });
  }

  #updates({ namespace, data: text }: Part, events: RowEvents) {
    this.#request(namespace, this.#wants.has("input") ? askedIn(text) : [], events);
    if (this.#wants.has("messages")) this.#messages.closeOfNode(namespace, text, events);
    if (!this.#wants.has("updates")) return;
    for (const { node, data } of toUpdates(text)) {
      events.tell("main", { method: "updates", namespace, node, data });
    }
  }

  #task({ namespace, data }: Part, events: RowEvents) {
    const task = this.#wantsTasks(data) ? (JSON.parse(data) as TaskNews) : null;
    if (task && "result" in task) this.#endTask(namespace, task, events);
    else if (task) this.#namespaces.beginTask(task);
    if (!this.#wants.has("tasks")) return;
    const told = toTask(data, this.#latest.get(namespace.join("|")));
    events.tell("main", { method: "tasks", namespace, data: told });
  }

  // Where a task begins only tool calls are looked for.
  #wantsTasks(data: string): boolean {
    if (data.includes('"result":')) {
      return ["messages", "lifecycle", "input"].some((name) => this.#wants.has(name as Channel));
    }
    return this.#wants.has("lifecycle") && data.includes('"tool_call"');
  }

  #endTask(namespace: string[], task: TaskNews, events: RowEvents) {
    const within = [...namespace, `${task.name}:${task.id}`];
    if (this.#wants.has("messages")) this.#messages.closeWithin(within, events);
    this.#request(namespace, questionsOf(task.interrupts), events);
    if (this.#wants.has("lifecycle")) this.#namespaces.endTask(namespace, task, events);
  }

  #request(
    namespace: string[],
    asked: Asked[],
    events: RowEvents,
    stage: "requested" | "requested_at_end" = "requested",
  ) {
    if (!this.#wants.has("input")) return;
    for (const { id, value } of asked) {
      if (this.#requested.has(id)) continue;
      this.#requested.add(id);
      const data = JSON.stringify({ interrupt_id: id, payload: value });
      events.tell(stage, { method: "input.requested", channel: "input", namespace, data });
    }
  }

  // A run that streams both ways says all twice: with chunks it is said once.
  #message({ name, namespace, data }: Part, events: RowEvents) {
    if (name === "messages") this.#messages.take(namespace, data, events);
    else if (name === "messages/partial") this.#messages.takePartial(data, events);
    else if (name === "messages/complete") this.#messages.takeComplete(data, events);
  }
}

export function statusOf({ status, interrupts }: StoredRun): AgentStatus {
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

/** The first row of a subagent's own graph is one of its tasks. */
function agentNameOf({ name, data }: Part): string | null {
  if (name !== "tasks" || !data.includes('"lc_agent_name"')) return null;
  const { metadata } = JSON.parse(data) as TaskNews;
  const agent = metadata?.lc_agent_name;
  return typeof agent === "string" && agent !== "" ? agent : null;
}
