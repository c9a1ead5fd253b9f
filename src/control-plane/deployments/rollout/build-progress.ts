import { type SQL, sql } from "drizzle-orm";
import { nowMicros, toIso, toMicros } from "../../../shared/times.ts";
import type { StartedStep } from "../revisions.ts";
import { revisions } from "../table.ts";

/** Values of columns that describe the progress of a build, and its log lines. */

export type NewLogLine = {
  level: "DEBUG" | "INFO" | "WARNING" | "ERROR";
  message: string;
  timestamp: string;
};
/** Limits a log line and the status message: bundlers print megabytes, and a row of D1 has at most 2 MB. */
const MAX_LINE_CHARACTERS = 8000;

/** Id of the last ERROR line, which has the reason of the failure. */
export const lastError = sql<number | null>`(
  select max(id) from build_logs where revision_id = ${revisions.id} and level = 'ERROR'
)`;

/** Returns the steps of the row with `steps` appended. */
export function withSteps(steps: readonly StartedStep[]): SQL {
  return steps.reduce<SQL>(
    (list, step) => sql`json_insert(${list}, '$[#]', json(${JSON.stringify(step)}))`,
    sql`coalesce(${revisions.steps}, '[]')`,
  );
}

/** Returns the steps at the start of an attempt. A stored artifact is not built again, so `load` follows its steps. */
export function stepsOfClaim(started_at: string): SQL {
  const fetch = JSON.stringify([{ name: "fetch", started_at }]);
  const load = withSteps([{ name: "load", started_at }]);
  return sql`case when ${revisions.artifact_key} is null then ${fetch} else ${load} end`;
}

/** Writes all timestamps in one format, so that they sort as text. */
export function toLogRow({ level, message, timestamp }: NewLogLine): NewLogLine {
  return { level, message: cutText(message), timestamp: toIso(toMicros(timestamp) ?? nowMicros()) };
}

export function cutText(text: string): string {
  return text.slice(0, MAX_LINE_CHARACTERS);
}
