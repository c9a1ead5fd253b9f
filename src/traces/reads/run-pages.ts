import type { TraceRunRow } from "../rows/rows.ts";
import type { ChangedPage } from "./changed-runs.ts";
import type { RowsPage } from "./scan-page.ts";

/** Feedback with a key: its number of rows, and the mean of their scores. */
export type FeedbackStat = { key: string; n: number; avg: number | null };
/** How often a run was given a value of a key. */
export type FeedbackValue = { key: string; value: string; n: number };

/** Runs with their feedback. */
export type ReadRuns = {
  runs: TraceRunRow[];
  feedback: (FeedbackStat & { run_id: string })[];
  values: (FeedbackValue & { run_id: string })[];
};

/** Page of changed runs with their feedback. */
export type ChangedRuns = Omit<ReadRuns, "runs"> & ChangedPage;

/** Page of a scan. `annotations`: feedback, `null` when the scan does not read it or the partition has none. */
export type ScannedRows = RowsPage & { annotations: Pick<ReadRuns, "feedback" | "values"> | null };

export const NO_RUNS: ReadRuns = { runs: [], feedback: [], values: [] };
