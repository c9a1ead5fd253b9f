import { toAssistantId } from "../threads/contract/assistant-ids.ts";
import type { CronChange, CronFilter, CronRow } from "./records.ts";
import type { Cron, CronCount, CronPatch, FoundCron } from "./schema.ts";

// Conversions between crons on the wire and stored crons.

export function toCron({ assistant_id, payload, end_at, next_at, ...row }: CronRow): Cron {
  const { cron_id, thread_id, schedule, timezone, user_id, metadata, enabled } = row;
  return {
    ...{ cron_id, assistant_id, thread_id, schedule, timezone },
    end_time: toIso(end_at),
    created_at: new Date(row.created_at).toISOString(),
    updated_at: new Date(row.updated_at).toISOString(),
    user_id,
    payload: { assistant_id, ...payload },
    next_run_date: toIso(next_at),
    ...{ metadata, enabled, on_run_completed: row.on_run_completed },
  };
}

function toIso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** Returns the selected fields. `now` is returned only when it is selected. */
export function selected(
  cron: Cron & { now: string },
  select: (keyof FoundCron)[] | null,
): FoundCron {
  const { now: _, ...whole } = cron;
  if (select === null) return whole;
  return Object.fromEntries(select.map((field) => [field, cron[field]]));
}

export function toFilter(graphs: string[], filter: CronCount): Omit<CronFilter, "filters"> {
  const { assistant_id, thread_id = null, enabled = null, metadata = null } = filter;
  return {
    assistant_id: assistant_id ? toAssistantId(graphs, assistant_id) : null,
    thread_id,
    enabled,
    metadata,
  };
}

/**
 * Converts a patch. Absent fields stay. `null` removes the end, the time zone, metadata and options of the runs. A
 * `null` schedule, `enabled` or `on_run_completed` changes nothing.
 */
export function toChange(patch: CronPatch): Omit<CronChange, "principal" | "user_id"> {
  const { schedule, timezone, end_time, enabled, on_run_completed, metadata, ...payload } = patch;
  return {
    ...(schedule && { schedule }),
    ...(timezone !== undefined && { timezone }),
    ...(end_time !== undefined && { end_at: end_time === null ? null : Date.parse(end_time) }),
    ...(typeof enabled === "boolean" && { enabled }),
    ...(on_run_completed && { on_run_completed }),
    ...(metadata !== undefined && { metadata: metadata ?? {} }),
    payload,
  };
}

export function withoutNulls(payload: Record<string, unknown>): Record<string, unknown> {
  const given = Object.entries(payload).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  return Object.fromEntries(given);
}
