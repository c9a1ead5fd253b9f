import type { BulkExportRun } from "../../../exports/bulk-exports/run-schema.ts";
import { formatCount, formatDate } from "../../ui/formats.ts";

export type DayState = "written" | "working" | "waiting" | "failed";

export type DayBar = {
  key: string;
  label: string;
  rows: number;
  state: DayState;
  /** Share of the tallest bar, 0 to 1. */
  height: number;
};

const STATES: Record<BulkExportRun["status"], DayState> = {
  CREATED: "waiting",
  RUNNING: "working",
  COMPLETED: "written",
  FAILED: "failed",
  CANCELLED: "failed",
  TIMEDOUT: "failed",
};
/** The state of a bar of several days is the first of these that any day has. */
const ORDER: DayState[] = ["failed", "working", "waiting", "written"];
const MAX_BARS = 60;

/** Bars of the days of an export, of several days each in a long one. */
export function toDayBars(runs: BulkExportRun[], maximum = MAX_BARS): DayBar[] {
  const size = Math.max(1, Math.ceil(runs.length / maximum));
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
    state: ORDER.find((each) => states.includes(each)) ?? "waiting",
  };
}

function dayOf(run: BulkExportRun | undefined): string {
  return run === undefined ? "" : formatDate(new Date(run.metadata.start_time));
}

const WORDS: Record<DayState, string> = {
  written: "written",
  working: "at work",
  waiting: "to do",
  failed: "failed or ended",
};

export function dayWord(state: DayState): string {
  return WORDS[state];
}

/** `13 days written, 2 at work`. */
export function daysText(runs: BulkExportRun[]): string {
  const states = runs.map(({ status }) => STATES[status]);
  const parts = (Object.keys(WORDS) as DayState[]).flatMap((state) => {
    const count = states.filter((each) => each === state).length;
    return count === 0 ? [] : [`${count} ${WORDS[state]}`];
  });
  const idle = runs.filter(({ status, metadata }) => {
    return STATES[status] === "written" && metadata.result.rows_written === 0;
  }).length;
  const without = idle === 0 ? "" : `; ${idle} without runs`;
  return `${formatCount(runs.length, "day")}: ${parts.join(", ")}${without}`;
}
