import type { AgentUser, Caller } from "../../shared/context.ts";
import type { Filters } from "../../shared/filters.ts";
import type { CronSort } from "./schema.ts";

export type OnRunCompleted = "delete" | "keep";

/** Times are epoch milliseconds. */
export type CronRow = {
  cron_id: string;
  deployment_id: string;
  assistant_id: string;
  /** `null` when each firing creates a thread. */
  thread_id: string | null;
  schedule: string;
  timezone: string | null;
  end_at: number | null;
  enabled: boolean;
  on_run_completed: OnRunCompleted;
  /** Request body of the runs. */
  payload: Record<string, unknown>;
  metadata: Record<string, unknown>;
  /** The principal of the runs: the caller who created or changed the cron last. */
  principal: { caller: Caller; origin: string; user?: AgentUser };
  user_id: string | null;
  created_at: number;
  updated_at: number;
  /** Time of the next firing by the schedule. A firing that is tried again stays the next one. */
  next_at: number | null;
  /** Failed attempts at this firing. */
  tries: number;
  /** Time of the next attempt, `null` before the first one. */
  retry_at: number | null;
};

/** State of the next firing. Times are epoch milliseconds. */
export type NextFiring = Pick<CronRow, "next_at" | "tries" | "retry_at">;

/** A firing that is due. `at`: time of the schedule. `bytes`: size of the cron's payload. */
export type DueCron = { cron_id: string; at: number; bytes: number };

export type NewCron = Omit<CronRow, "next_at" | "tries" | "retry_at">;

/**
 * Absent keys keep their value. `null` in the payload removes the key. `principal`: the caller, who replaces the
 * earlier one.
 */
export type CronChange = Partial<
  Pick<CronRow, "schedule" | "timezone" | "end_at" | "enabled" | "on_run_completed" | "metadata">
> &
  Pick<CronRow, "principal" | "user_id"> & { payload: Record<string, unknown> };

export type CronFilter = {
  assistant_id: string | null;
  thread_id: string | null;
  enabled: boolean | null;
  metadata: Record<string, unknown> | null;
  /** Authorization filters, `null` for all crons. */
  filters: Filters | null;
};

export type CronQuery = CronFilter & {
  sort_by: CronSort;
  sort_order: "asc" | "desc";
  limit: number;
  offset: number;
};

export type CronRefusal = "full" | "too_large" | { field: "schedule" | "timezone"; text: string };

/** `ended`: the cron's thread or deployment is gone. `refused`: its principal may not start runs any more. */
export type FiringOutcome = "started" | "skipped" | "retry" | "ended" | "refused";

/** `message` is the reason when no run was started. */
export type FiringResult = {
  outcome: FiringOutcome;
  run_id: string | null;
  thread_id: string | null;
  message: string | null;
};

/** `at`: time of the schedule. For a manual firing the second of the request plus one millisecond. */
export type FiringRow = FiringResult & {
  cron_id: string;
  at: number;
  fired_at: number;
  is_manual: boolean;
};
