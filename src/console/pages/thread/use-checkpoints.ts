import type { UseQueryResult } from "@tanstack/react-query";
import { useApiQuery } from "../../api/hooks.ts";
import type { PathTag } from "../../api/path.ts";
import { type CheckpointMark, toMarks } from "../../runs/checkpoints.ts";
import { type InterruptRequest, interruptsOf } from "../../runs/interrupts/interrupts.ts";
import { type StateItem, threadPath } from "../../runs/stream/agent.ts";

/** Number of checkpoints that a page reads, the newest. */
export const HISTORY_SHOWN = 100;

export type CheckpointView = {
  history: UseQueryResult<Partial<StateItem>[]>;
  marks: CheckpointMark[];
  /** Whether the first mark is the checkpoint of the address, and older than those of the history. */
  hasOlder: boolean;
  /** Index of the checkpoint that is shown. */
  index: number;
  /** The chosen checkpoint, `null` for the current state. */
  chosen: CheckpointMark | null;
  /** Id of the checkpoint of the address, `undefined` for the current state. */
  wanted: string | undefined;
  /** The state at the checkpoint that is shown. */
  state: StateItem | undefined;
  /** The state at the parent of that checkpoint. */
  former: StateItem | undefined;
  /** Why the state could not be read. */
  error: Error | null;
  /** Whether the state is that of the checkpoint that was shown before. */
  isStale: boolean;
  /** Interrupts of all read checkpoints, also the answered ones. */
  requests: InterruptRequest[];
};

/** Reads the history without its values, and the two states that are compared. */
export function useCheckpoints(
  deployment: string,
  thread_id: string,
  cp: string | undefined,
): CheckpointView {
  const path = threadPath(deployment, thread_id);
  const history = useApiQuery<Partial<StateItem>[]>(path`/history`, {
    post: {
      limit: HISTORY_SHOWN,
      select: ["metadata", "created_at", "checkpoint", "parent_checkpoint", "next", "interrupts"],
    },
    keepPrevious: true,
  });
  const { marks, hasOlder, isListed, error } = useMarks(path, history.data, cp);
  const at = marks.findIndex(({ id }) => id === cp);
  const chosen = at >= 0 && at < marks.length - 1 ? (marks[at] ?? null) : null;
  const index = chosen === null ? marks.length - 1 : at;
  const shown = marks[index];
  const state = useStateAt(path, shown?.id);
  const former = useStateAt(path, shown?.parent ?? undefined);
  const requests = (history.data ?? []).flatMap(({ interrupts }) =>
    interruptsOf({ tasks: [{ interrupts }] }),
  );
  return {
    ...{ history, marks, hasOlder, index, chosen, requests },
    wanted: isListed ? chosen?.id : cp,
    ...{ state: state.shown, error: state.error ?? error, isStale: state.isPlaceholderData },
    former: former.shown,
  };
}

/**
 * Returns the marks of the history. When the history lacks the checkpoint of the address, which is older, its mark
 * comes first.
 */
function useMarks(
  path: PathTag,
  history: Partial<StateItem>[] | undefined,
  cp: string | undefined,
) {
  const listed = toMarks(history ?? []);
  const isListed = listed.some(({ id }) => id === cp);
  const older = useStateAt(path, history && !isListed ? cp : undefined);
  const before = toMarks(older.shown ? [older.shown] : []);
  const hasOlder = before.length > 0;
  return { marks: [...before, ...listed], hasOlder, isListed, error: older.error };
}

function useStateAt(path: PathTag, id: string | undefined) {
  const query = useApiQuery<StateItem>(id === undefined ? null : path`/state/${id}`, {
    keepPrevious: true,
  });
  const { data, error, isPlaceholderData } = query;
  return { shown: id === undefined ? undefined : data, error, isPlaceholderData };
}
