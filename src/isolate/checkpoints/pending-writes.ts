import type { CheckpointPendingWrite } from "@langchain/langgraph-checkpoint";
import type { StoredWrite } from "../contract.ts";

/** LangGraph's id for writes of a run's input or command, which belong to no task. */
const INPUT_TASK = "00000000-0000-0000-0000-000000000000";
const MARKS = ["__resume__", "__interrupt__", "__error__", "__scheduled__"];

/** Whether a reducer of the agent applies the write: LangGraph's marks have none. */
export function isUpdate({ channel }: { channel: string }): boolean {
  return !MARKS.includes(channel);
}

/** LangGraph stores the updates of a command first and applies them then. */
export function isCommandUpdate(task_id: string, writes: StoredWrite[]): boolean {
  return task_id === INPUT_TASK && writes.some(isUpdate);
}

export function mergeWrites(old: StoredWrite[], added: StoredWrite[]): StoredWrite[] {
  const merged = new Map(old.map((write) => [`${write.task_id} ${write.idx}`, write]));
  for (const write of added) {
    const at = `${write.task_id} ${write.idx}`;
    if (write.idx < 0 || !merged.has(at)) merged.set(at, write);
  }
  return [...merged.values()];
}

/**
 * Returns the pending writes of a checkpoint as they were before its last answer. LangGraph would
 * use that answer again instead of the new one.
 */
export function withoutLastAnswers(writes: CheckpointPendingWrite[]): CheckpointPendingWrite[] {
  const ended = new Set(writes.flatMap(([id, channel]) => (isUpdate({ channel }) ? [id] : [])));
  return writes.flatMap(([id, channel, value]): CheckpointPendingWrite[] => {
    if (channel !== "__resume__") return [[id, channel, value]];
    if (id === INPUT_TASK) return [];
    // A list has one answer for each run that answered.
    const isWhole = !ended.has(id) || !Array.isArray(value);
    return [[id, channel, isWhole ? value : value.slice(0, -1)]];
  });
}
