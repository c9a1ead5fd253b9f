import {
  type CheckpointMark,
  checkpointName,
  checkpointNumber,
  forkOf,
  groupByRun,
  labelOf,
  lineageOf,
} from "../../runs/checkpoints.ts";
import type { RunItem } from "../../runs/stream/agent.ts";
import { runName } from "../../runs/use-thread.ts";
import { Icon } from "../../ui/icon.tsx";
import { Time } from "../../ui/values.tsx";
import { type CheckpointView, HISTORY_SHOWN } from "./use-checkpoints.ts";

type Props = {
  view: CheckpointView;
  /** The oldest first. */
  runs: RunItem[];
  isWaiting: boolean;
  onChoose: (id: string | undefined) => void;
  /**
   * Starts a run from the chosen checkpoint. `undefined` for viewers, for the current state, and for a thread without a
   * run.
   */
  onFork: (() => void) | undefined;
  isForking: boolean;
};

/** Checkpoints in order, grouped by run. Arrow keys move between them. */
export function CheckpointStrip({ view, runs, isWaiting, onChoose, onFork, isForking }: Props) {
  const { marks, hasOlder, index, chosen } = view;
  const shown = marks[index];
  if (shown === undefined) return null;
  const last = marks.length - 1;
  const from = forkOf(marks, index);
  const forked = from === null ? "" : `, forked from ${checkpointName(from, hasOlder)}`;
  const text = `${positionText(view)}, ${labelOf(shown, marks)}${forked}`;
  return (
    <div className="cp">
      <div className="row">
        <span className="m nw">{chosen === null ? "Now" : <Time at={chosen.at} exact />}</span>
        <span className="sm dim cut">{text}</span>
        <span className="push row">
          {chosen !== null && (
            <button type="button" className="btn sm ghost" onClick={() => onChoose(undefined)}>
              Back to now
            </button>
          )}
          {onFork && (
            <button type="button" className="btn sm pri" disabled={isForking} onClick={onFork}>
              <Icon name="fork" small /> Fork from here
            </button>
          )}
        </span>
      </div>
      <div className="cpx">
        <Cells view={view} runs={runs} isWaiting={isWaiting} />
        <input
          className="range"
          type="range"
          min={1}
          max={marks.length}
          value={index + 1}
          aria-label="Checkpoint"
          aria-valuetext={text}
          onChange={(event) => {
            const at = Number(event.target.value) - 1;
            onChoose(at === last ? undefined : marks[at]?.id);
          }}
        />
      </div>
    </div>
  );
}

type CellsProps = Pick<Props, "view" | "runs" | "isWaiting">;

function Cells({ view: { marks, hasOlder, index }, runs, isWaiting }: CellsProps) {
  const groups = groupByRun(marks);
  const position = new Map(marks.map(({ id }, at) => [id, at]));
  const past = lineageOf(marks, index);
  const classOf = (id: string) => {
    const at = position.get(id);
    const waits = isWaiting && at === marks.length - 1 ? "w" : "";
    if (at === index) return `${waits} cur`;
    return past.has(id) ? `${waits} past` : waits;
  };
  return (
    <div className="cps" aria-hidden="true">
      {groups.map((group) => (
        <span key={group[0]?.id} className="cpg" style={{ flex: group.length }}>
          <span className="cells">
            {group.map(({ id }) => (
              <i key={id} className={classOf(id)} />
            ))}
          </span>
          <span className="xs dim cut">
            {runLabel(runs, group[0]?.run_id ?? null)}
            {forkText(marks, position.get(group[0]?.id ?? "") ?? 0, hasOlder)}
          </span>
        </span>
      ))}
    </div>
  );
}

function positionText({ marks, hasOlder, index }: CheckpointView): string {
  const name = checkpointName(index, hasOlder);
  if (hasOlder && index === 0) return name;
  const listed = hasOlder ? marks.length - 1 : marks.length;
  const total = listed < HISTORY_SHOWN ? listed : `the newest ${listed}`;
  return `${name} of ${total}`;
}

function forkText(marks: CheckpointMark[], at: number, hasOlder: boolean): string {
  const from = forkOf(marks, at);
  return from === null ? "" : ` from ${checkpointNumber(from, hasOlder) ?? "an older one"}`;
}

function runLabel(runs: RunItem[], run_id: string | null): string {
  return run_id === null ? "no run" : runName(runs, run_id);
}
