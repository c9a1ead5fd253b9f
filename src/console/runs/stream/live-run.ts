import type { ServerSentEvent } from "../../api/sse.ts";
import { type Fields, isFields, parseOr, toJson } from "../../ui/conversation/fields.ts";
import { idOf } from "../../ui/conversation/model.ts";
import { cutText } from "../../ui/formats.ts";
import { mergeChunk } from "./chunks.ts";

export type NodeState = "running" | "done" | "failed" | "waiting";
export type EventLine = { key: string; name: string; text: string };
type StreamedMessage = {
  message: Fields;
  /** `count` when the message last changed. */
  at: number;
};

/** The state of a run, from the events that were read so far. */
export type LiveRun = {
  /** Values of the state; `undefined` before the run emitted any. */
  values: unknown;
  /** Messages that the run is writing, by id. */
  streamed: Map<string, StreamedMessage>;
  /** Keys are names in the graph with its subgraphs: `team:inner` is in the subgraph of `team`. */
  nodes: Record<string, NodeState>;
  /** The newest `MAX_LINES` lines of the list of events. */
  lines: EventLine[];
  /** Number of older lines that were removed. */
  dropped: number;
  error: string | null;
  /** Number of events read. */
  count: number;
  /** `count` when `values` last arrived. Streamed messages that did not change since are in `values`. */
  values_at: number;
};

const MAX_LINES = 500;
const MAX_TEXT = 160;

export function emptyLiveRun(): LiveRun {
  return {
    values: undefined,
    streamed: new Map(),
    nodes: {},
    lines: [],
    dropped: 0,
    error: null,
    count: 0,
    values_at: 0,
  };
}

/** Applies an event. Changes the given object, because a copy for each token would be slow. */
export function applyEvent(live: LiveRun, { id, event, data: text }: ServerSentEvent): void {
  const data = parseOr(text);
  const [name = "", ...namespace] = event.split("|");
  const isRoot = namespace.length === 0;
  live.count += 1;
  addLine(live, { key: `${id ?? ""}-${live.count}`, name, text: lineOf(name, data) });
  // Each attempt at the run begins with `metadata`.
  if (name === "metadata") Object.assign(live, { streamed: new Map(), nodes: {}, error: null });
  else if (name === "values" && isRoot)
    Object.assign(live, { values: data, values_at: live.count });
  else if (name === "updates") markDone(live, namespace, data);
  else if (name === "tasks") markTask(live, namespace, data);
  else if (name === "error") live.error = errorOf(data);
  else addMessages(live, name, data);
}

/** Returns the messages of the state, and then those that the run is writing, each once. */
export function withStreamed(messages: unknown[], live: LiveRun): unknown[] {
  const known = new Set(messages.map(idOf));
  const fresh = [...live.streamed.values()].filter(
    ({ message, at }) => at > live.values_at && !known.has(idOf(message)),
  );
  return [...messages, ...fresh.map(({ message }) => message)];
}

function addMessages(live: LiveRun, name: string, data: unknown): void {
  if (!Array.isArray(data)) return;
  if (name === "messages") addMessage(live, data[0], isModelChunk(data[0], data[1]));
  if (name === "messages/partial" || name === "messages/complete") {
    for (const message of data) addMessage(live, message, false);
  }
}

/**
 * Returns whether a message is a part of one that a model writes. A message that a node returns is complete: its
 * metadata names the node. Chunks of a model always have `tool_call_chunks`, possibly empty.
 */
function isModelChunk(message: unknown, metadata: unknown): boolean {
  const { name, langgraph_node } = isFields(metadata) ? metadata : {};
  const isOfNode = name !== undefined && name === langgraph_node;
  return !isOfNode && isFields(message) && message.tool_call_chunks !== undefined;
}

function addMessage(live: LiveRun, message: unknown, isChunk: boolean): void {
  const id = idOf(message);
  if (id === null || !isFields(message)) return;
  const former = isChunk ? live.streamed.get(id)?.message : undefined;
  const merged = former ? mergeChunk(former, message) : message;
  live.streamed.set(id, { message: merged, at: live.count });
}

function markDone(live: LiveRun, namespace: string[], data: unknown): void {
  for (const name of Object.keys(isFields(data) ? data : {})) {
    const node = nodeName(namespace, name);
    if (name !== "__interrupt__" && live.nodes[node] !== "waiting") live.nodes[node] = "done";
  }
}

function markTask(live: LiveRun, namespace: string[], data: unknown): void {
  if (!isFields(data) || typeof data.name !== "string") return;
  const isOver = "result" in data || "error" in data;
  live.nodes[nodeName(namespace, data.name)] = isOver ? endOf(data) : "running";
}

/** Drops the task ids: the namespace part `team:1f0a` is the node `team`. */
function nodeName(namespace: string[], name: string): string {
  return [...namespace.map((part) => part.split(":")[0]), name].join(":");
}

function endOf({ error, interrupts }: Fields): NodeState {
  if (error) return "failed";
  return Array.isArray(interrupts) && interrupts.length > 0 ? "waiting" : "done";
}

function errorOf(data: unknown): string {
  if (!isFields(data)) return toJson(data);
  return [data.error, data.message].filter((part) => typeof part === "string").join(": ");
}

function addLine(live: LiveRun, line: EventLine): void {
  const last = live.lines.at(-1);
  if (last && line.name.startsWith("messages") && last.name === line.name) {
    live.lines[live.lines.length - 1] = line;
    return;
  }
  live.lines.push(line);
  if (live.lines.length <= MAX_LINES) return;
  live.lines.shift();
  live.dropped += 1;
}

function lineOf(name: string, data: unknown): string {
  if (name === "messages" && Array.isArray(data)) {
    const node = isFields(data[1]) ? data[1].langgraph_node : undefined;
    return `${String(node ?? "")} writes`.trim();
  }
  if (name === "tasks" && isFields(data)) {
    return `${String(data.name)} ${"result" in data ? "ends" : "starts"}`;
  }
  return cutText(toJson(data), MAX_TEXT);
}
