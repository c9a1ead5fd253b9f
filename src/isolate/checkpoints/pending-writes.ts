import * as library from "@langchain/langgraph-checkpoint";
import type { StoredWrite } from "../checkpoint-contract.ts";

/** LangGraph's id for writes of a run's input or command, which belong to no task. */
const INPUT_TASK = "00000000-0000-0000-0000-000000000000";
/** LangGraph's special channels with the index of their write in a task. Other writes have an index from 0 on. */
const MARKS = { __error__: -1, __scheduled__: -2, __interrupt__: -3, __resume__: -4 };

/** LangGraph's own map. Absent from langgraph-checkpoint before 0.0.10. */
export const WRITES_IDX_MAP: Record<string, number> =
  Reflect.get(library, "WRITES_IDX_MAP") ?? MARKS;

/** Channel of the node that failed in a task. LangGraph gives it an index like that of an update. */
const ERROR_SOURCE = "__error_source_node__";

/**
 * Whether the write is output of a task or a command, and not LangGraph's note of an error, an interrupt or an answer.
 */
export function isUpdate({ channel }: { channel: string }): boolean {
  return channel !== ERROR_SOURCE && !Object.hasOwn(MARKS, channel);
}

/** Whether the writes have updates of a command. LangGraph stores these before it applies them. */
export function isCommandUpdate(task_id: string, writes: StoredWrite[]): boolean {
  return task_id === INPUT_TASK && writes.some(isUpdate);
}

/** Memory that a write takes beside its value. */
const WRITE_BYTES = 256;

/**
 * Pending writes of a checkpoint. Of several writes at one index of a task, the first counts for an update, and the
 * newest for a special channel.
 */
export class PendingWrites {
  readonly #writes = new Map<string, StoredWrite>();
  #bytes = 0;

  constructor(writes: StoredWrite[] = []) {
    this.add(writes);
  }

  add(writes: StoredWrite[]) {
    for (const write of writes) {
      const at = `${write.task_id} ${write.idx}`;
      const before = this.#writes.get(at);
      if (before && write.idx >= 0) continue;
      this.#bytes += bytesOf(write) - (before ? bytesOf(before) : 0);
      this.#writes.set(at, write);
    }
  }

  get bytes(): number {
    return this.#bytes;
  }

  toArray(): StoredWrite[] {
    return [...this.#writes.values()];
  }
}

function bytesOf({ data }: StoredWrite): number {
  return data.length + WRITE_BYTES;
}

/** Sorts writes as LangGraph applies them to a DeltaChannel: by the path of the task, and not by the time it ended. */
export function inTaskOrder(writes: readonly StoredWrite[]): StoredWrite[] {
  return writes.toSorted(
    (one, other) =>
      compareCodePoints(one.path, other.path) ||
      compareCodePoints(one.task_id, other.task_id) ||
      one.idx - other.idx,
  );
}

/** UTF-16 code units sort surrogates before U+E000, and code points after it. */
function compareCodePoints(one: string, other: string): number {
  const [a, b] = [Array.from(one, toCodePoint), Array.from(other, toCodePoint)];
  const at = a.findIndex((point, n) => point !== b[n]);
  return at === -1 ? a.length - b.length : (a[at] ?? 0) - (b[at] ?? -1);
}

function toCodePoint(character: string): number {
  return character.codePointAt(0) ?? 0;
}

/**
 * Leaves out interrupts of tasks that have ended, as long as another task of the checkpoint waits or has failed.
 * LangGraph keeps them until the step ends.
 */
export function withoutAnswered(writes: StoredWrite[]): StoredWrite[] {
  const ended = new Set(writes.filter(isUpdate).map(({ task_id }) => task_id));
  const [interrupts, rest] = [
    writes.filter(isInterrupt),
    writes.filter((one) => !isInterrupt(one)),
  ];
  const pending = interrupts.filter(({ task_id }) => !ended.has(task_id));
  const isOpen = pending.length > 0 || rest.some(({ channel }) => channel === "__error__");
  return isOpen ? [...rest, ...pending] : writes;
}

export function isInterrupt({ channel }: StoredWrite): boolean {
  return channel === "__interrupt__";
}

/**
 * Returns the pending writes of a checkpoint as they were before its last answer. LangGraph would
 * use that answer again instead of the new one.
 */
export function withoutLastAnswers(
  writes: library.CheckpointPendingWrite[],
): library.CheckpointPendingWrite[] {
  const ended = new Set(writes.flatMap(([id, channel]) => (isUpdate({ channel }) ? [id] : [])));
  return writes.flatMap(([id, channel, value]): library.CheckpointPendingWrite[] => {
    if (channel !== "__resume__") return [[id, channel, value]];
    if (id === INPUT_TASK) return [];
    // A list has one answer for each run that answered.
    const isWhole = !ended.has(id) || !Array.isArray(value);
    return [[id, channel, isWhole ? value : value.slice(0, -1)]];
  });
}
