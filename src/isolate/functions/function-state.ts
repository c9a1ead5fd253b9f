import type { LoadedCheckpoint, StoredValue } from "../checkpoint-contract.ts";
import { nextVersion } from "../checkpoints/versions.ts";
import type { GraphCall, Op, ThreadSummary } from "../contract.ts";
import { assertStateSize, type ChannelSize, totalOf } from "../message-size.ts";
import type { Outbox } from "../outbox.ts";
import { toWire } from "../wire.ts";
import { readValues } from "./stored-values.ts";

export type FunctionMessage = { type: string; content: unknown; id: string } & Record<
  string,
  unknown
>;

type Values = Record<string, unknown>;

/** The state of a plain agent, from its checkpoint. */
export type FunctionState = {
  values: Values;
  messages: FunctionMessage[];
  checkpoint_id: string | null;
  parent_id: string | null;
  /** Id of the thread's newest checkpoint. The id of the next one must sort after it, also in a fork. */
  newest_id: string | null;
  metadata: Record<string, unknown>;
  /** Stored values of the checkpoint, so that unchanged keys are not stored again. */
  stored: StoredValue[];
};

/** Id of LangGraph for a message that removes all before it. */
const REMOVE_ALL = "__remove_all__";

const ROLES: Record<string, string> = { user: "human", assistant: "ai" };

export function isUpdate(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function readState(loaded: LoadedCheckpoint | null): FunctionState {
  const stored = loaded?.values ?? [];
  const values = loaded ? readValues(loaded) : {};
  return {
    values,
    messages: Array.isArray(values.messages) ? values.messages : [],
    checkpoint_id: loaded?.checkpoint_id ?? null,
    parent_id: loaded?.parent_id ?? null,
    newest_id: loaded?.checkpoint_id ?? null,
    metadata: loaded ? JSON.parse(loaded.metadata) : {},
    stored,
  };
}

/**
 * Merges an update: its keys replace values, and its `messages` are appended. A message with the id of an earlier one
 * replaces it, or removes it when the type is `remove`.
 * @throws TypeError when the update is not an object
 */
export function applyUpdate(state: FunctionState, update: unknown): FunctionState {
  if (!isUpdate(update)) throw new TypeError("The input of a plain agent must be an object.");
  const { messages, ...rest } = update;
  if (messages === undefined) return { ...state, values: { ...state.values, ...rest } };
  const merged = mergeMessages(state.messages, Array.isArray(messages) ? messages : [messages]);
  return { ...state, values: { ...state.values, ...rest, messages: merged }, messages: merged };
}

function mergeMessages(old: FunctionMessage[], added: unknown[]): FunctionMessage[] {
  let merged = [...old];
  for (const message of added.map(toMessage)) {
    const at = merged.findIndex(({ id }) => id === message.id);
    if (message.type === "remove") {
      merged = message.id === REMOVE_ALL ? [] : merged.filter(({ id }) => id !== message.id);
    } else if (at === -1) merged.push(message);
    else merged[at] = message;
  }
  return merged;
}

/**
 * Returns a message in the form of the wire, from a text or an object. Its type is `type`, else `role`, else `human`.
 */
export function toMessage(message: unknown): FunctionMessage {
  if (typeof message === "string") return { type: "human", content: message, id: newMessageId() };
  if (!isUpdate(message)) throw new TypeError("A message must be a text or an object.");
  const { role, type, id, ...rest } = JSON.parse(toWire(message)) as Values;
  const named = String(type ?? role ?? "human");
  return {
    content: "",
    ...rest,
    type: ROLES[named] ?? named,
    id: typeof id === "string" ? id : newMessageId(),
  };
}

function newMessageId(): string {
  return crypto.randomUUID();
}

/** A new thread has the step -2, because LangGraph gives a first input the step -1. */
export function stepOf(state: FunctionState): number {
  const step = state.metadata.step;
  return typeof step === "number" ? step : -2;
}

/** Returns the operation that saves a state as a new checkpoint, and the state as of that checkpoint. */
export function toOp(
  state: FunctionState,
  metadata: Record<string, unknown>,
): { op: Op; saved: FunctionState } {
  const encoder = new TextEncoder();
  const known = new Map(state.stored.map((value) => [value.channel, value]));
  const decoder = new TextDecoder();
  const stored = Object.entries(state.values).map(([channel, value]): StoredValue => {
    const json = toWire(value);
    const before = known.get(channel);
    if (before && decoder.decode(before.data) === json) return before;
    const version = nextVersion(before?.version);
    return { channel, version, type: "json", data: encoder.encode(json) };
  });
  const checkpoint_id = newCheckpointId(state.newest_id);
  const checkpoint = {
    v: 4,
    id: checkpoint_id,
    ts: new Date().toISOString(),
    channel_versions: Object.fromEntries(stored.map(({ channel, version }) => [channel, version])),
    versions_seen: {},
  };
  const op: Extract<Op, { op: "checkpoint" }> = {
    op: "checkpoint",
    ns: "",
    checkpoint_id,
    parent_id: state.checkpoint_id,
    checkpoint: JSON.stringify(checkpoint),
    metadata: JSON.stringify(metadata),
    values: stored.filter((value) => known.get(value.channel) !== value),
  };
  const { parent_id } = op;
  const saved = { ...state, checkpoint_id, parent_id, newest_id: checkpoint_id, metadata, stored };
  return { op, saved };
}

/** Time between the Gregorian epoch of UUIDs and 1970, in their unit of 100 ns. */
const EPOCH_TICKS = 122_192_928_000_000_000n;
const TICKS_PER_MS = 10_000n;

/**
 * Returns a UUID of version 6 that sorts after `previous`. LangGraph writes the same version, and a thread orders the
 * checkpoints of graphs and functions by their ids. Ids of version 7, which earlier releases wrote, sort below.
 */
function newCheckpointId(previous: string | null): string {
  const digits = previous?.replaceAll("-", "") ?? "";
  const last = digits[12] === "6" ? BigInt(`0x${digits.slice(0, 12)}${digits.slice(13, 16)}`) : 0n;
  const now = BigInt(Date.now()) * TICKS_PER_MS + EPOCH_TICKS;
  const ticks = (now > last ? now : last + 1n).toString(16).padStart(15, "0");
  const random = crypto.randomUUID().slice(19);
  return `${ticks.slice(0, 8)}-${ticks.slice(8, 12)}-6${ticks.slice(12)}-${random}`;
}

export function toPlainThreadState(call: GraphCall, loaded: LoadedCheckpoint | null) {
  const { thread_id } = call;
  const toCheckpoint = (checkpoint_id: string | null | undefined) =>
    checkpoint_id ? { thread_id, checkpoint_id, checkpoint_ns: "", checkpoint_map: null } : null;
  const { values, metadata } = readState(loaded);
  return {
    values,
    next: [],
    tasks: [],
    ...(loaded && { metadata }),
    created_at: loaded ? JSON.parse(loaded.checkpoint).ts : null,
    checkpoint: toCheckpoint(loaded?.checkpoint_id),
    parent_checkpoint: toCheckpoint(loaded?.parent_id),
    interrupts: [],
  };
}

export function save(
  state: FunctionState,
  call: GraphCall & { run_id?: string },
  outbox: Outbox,
  source: "input" | "loop" | "update",
): FunctionState {
  const metadata = {
    ...call.config.metadata,
    ...(call.run_id !== undefined && { run_id: call.run_id }),
    thread_id: call.thread_id,
    source,
    step: stepOf(state) + 1,
    parents: {},
  };
  const { op, saved } = toOp(state, metadata);
  const before = totalOf(sizesOf(state.stored));
  assertStateSize(sizesOf(saved.stored), before, call.max_state_bytes);
  outbox.push(op);
  return saved;
}

function sizesOf(values: StoredValue[]): ChannelSize[] {
  return values.map(({ channel, data }) => ({ channel, bytes: data.byteLength }));
}

export function summaryOf(state: FunctionState): ThreadSummary {
  return { values: toWire(state.values), next: [], interrupts: "{}" };
}
