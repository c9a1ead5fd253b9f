import { type Fields, isFields } from "../ui/conversation/fields.ts";

/** A checkpoint as the strip shows it. */
export type CheckpointMark = {
  id: string;
  parent: string | null;
  at: string | null;
  /** Nodes that run next; none at the end of a run. */
  next: string[];
  run_id: string | null;
  /** The writer: an input, a step, a person or a fork. */
  source: string;
};

type HistoryRow = {
  checkpoint?: unknown;
  parent_checkpoint?: unknown;
  metadata?: Fields | undefined;
  created_at?: string | null | undefined;
  next?: string[] | undefined;
};

/** Returns the checkpoints of a history, the oldest first. The history is the newest first. */
export function toMarks(history: HistoryRow[]): CheckpointMark[] {
  return history.toReversed().flatMap((row) => {
    const id = idIn(row.checkpoint);
    if (id === null) return [];
    const { run_id, source } = row.metadata ?? {};
    return [
      {
        id,
        parent: idIn(row.parent_checkpoint),
        at: row.created_at ?? null,
        next: row.next ?? [],
        run_id: typeof run_id === "string" ? run_id : null,
        source: String(source ?? "loop"),
      },
    ];
  });
}

function idIn(checkpoint: unknown): string | null {
  const id = isFields(checkpoint) ? checkpoint.checkpoint_id : undefined;
  return typeof id === "string" ? id : null;
}

/** Labels of checkpoints that no step of a run wrote. */
const SOURCES: Record<string, string> = {
  update: "state edited",
  fork: "fork",
};

/** Names a checkpoint by its edit or fork, else by the nodes that run next, else by the nodes that ran before. */
export function labelOf(mark: CheckpointMark, marks: CheckpointMark[]): string {
  const source = SOURCES[mark.source];
  if (source !== undefined) return source;
  if (mark.next.length > 0) return `before ${mark.next.join(", ")}`;
  const parent = marks.find(({ id }) => id === mark.parent);
  return parent && parent.next.length > 0 ? `after ${parent.next.join(", ")}` : "end";
}

/** Returns the ids of a checkpoint and of those that lead to it. After a fork these are not all earlier ones. */
export function lineageOf(marks: CheckpointMark[], at: number): Set<string> {
  const byId = new Map(marks.map((mark) => [mark.id, mark]));
  const path = new Set<string>();
  for (let mark = marks[at]; mark && !path.has(mark.id); mark = byId.get(mark.parent ?? "")) {
    path.add(mark.id);
  }
  return path;
}

/** @returns the position of the parent, `null` when that is the checkpoint before, or is not listed */
export function forkOf(marks: CheckpointMark[], at: number): number | null {
  const parent = marks.findIndex(({ id }) => id === marks[at]?.parent);
  return parent === -1 || parent === at - 1 ? null : parent;
}

/**
 * Returns the number of a checkpoint in the history, from 1. `hasOlder`: whether the first mark is not of the history.
 * @returns `null` for that mark
 */
export function checkpointNumber(at: number, hasOlder: boolean): number | null {
  if (!hasOlder) return at + 1;
  return at === 0 ? null : at;
}

export function checkpointName(at: number, hasOlder: boolean): string {
  const number = checkpointNumber(at, hasOlder);
  return number === null ? "an older checkpoint" : `checkpoint ${number}`;
}

/** Groups neighbouring checkpoints of the same run, for the strip. */
export function groupByRun(marks: CheckpointMark[]): CheckpointMark[][] {
  const groups: CheckpointMark[][] = [];
  for (const mark of marks) {
    const last = groups.at(-1);
    if (last && last[0]?.run_id === mark.run_id) last.push(mark);
    else groups.push([mark]);
  }
  return groups;
}
