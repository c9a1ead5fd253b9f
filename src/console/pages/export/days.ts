import type { BulkExportRun } from "../../../exports/bulk-exports/run-schema.ts";
import { formatCount, formatDate } from "../../ui/formats.ts";

export type DayState = "completed" | "running" | "queued" | "failed";

export type DayBar = {
  key: string;
  label: string;
  rows: number;
  state: DayState;
  /** Share of the tallest bar, 0 to 1. */
  height: number;
};

const STATES: Record<BulkExportRun["status"], DayState> = {
  CREATED: "queued",
  RUNNING: "running",
  COMPLETED: "completed",
  FAILED: "failed",
  CANCELLED: "failed",
  TIMEDOUT: "failed",
};
/** States in the order of importance: a bar of several days shows the first of these that one of its days has. */
const ORDER: DayState[] = ["failed", "running", "queued", "completed"];
const MAX_BARS = 60;

/** Returns the bars of the days of an export. Each has several days when there are more than `max_bars`. */
export function toDayBars(runs: BulkExportRun[], max_bars = MAX_BARS): DayBar[] {
  const size = Math.max(1, Math.ceil(runs.length / max_bars));
  const groups = Array.from({ length: Math.ceil(runs.length / size) }, (_, index) =>
    runs.slice(index * size, (index + 1) * size),
  );
  const bars = groups.map(toBar);
  const tallest = Math.max(1, ...bars.map(({ rows }) => rows));
  return bars.map((bar) => ({ ...bar, height: bar.rows / tallest }));
}

function toBar(days: BulkExportRun[]): Omit<DayBar, "height"> {
  const [first] = days;
  const last = days.at(-1);
  const states = days.map(({ status }) => STATES[status]);
  const from = dayOf(first);
  const until = dayOf(last);
  return {
    key: first?.id ?? "",
    label: from === until ? from : `${from} to ${until}`,
    rows: days.reduce((sum, { metadata }) => sum + metadata.result.rows_written, 0),
    state: ORDER.find((state) => states.includes(state)) ?? "queued",
  };
}

function dayOf(run: BulkExportRun | undefined): string {
  return run === undefined ? "" : formatDate(new Date(run.metadata.start_time));
}

const LABELS: Record<DayState, string> = {
  completed: "completed",
  running: "running",
  queued: "queued",
  failed: "failed or cancelled",
};

export function labelOfDay(state: DayState): string {
  return LABELS[state];
}

/** Returns `15 days: 13 completed, 2 running; 3 empty`. */
export function summarizeDays(runs: BulkExportRun[]): string {
  const states = runs.map(({ status }) => STATES[status]);
  const parts = (Object.keys(LABELS) as DayState[]).flatMap((state) => {
    const count = states.filter((each) => each === state).length;
    return count === 0 ? [] : [`${count} ${LABELS[state]}`];
  });
  const empty = runs.filter(({ status, metadata }) => {
    return STATES[status] === "completed" && metadata.result.rows_written === 0;
  }).length;
  const end = empty === 0 ? "" : `; ${empty} empty`;
  return `${formatCount(runs.length, "day")}: ${parts.join(", ")}${end}`;
}
