import { Cron } from "croner";
import { RETRY_MS } from "./limits.ts";
import type { CronRow, FiringOutcome, NextFiring } from "./records.ts";

type Schedule = { schedule: string; timezone: string | null };

type ScheduleProblem = { field: "schedule" | "timezone"; text: string };

/** @returns epoch milliseconds, `null` when no firing remains before the end */
export function nextFiring(
  plan: Schedule & { end_at: number | null },
  after: number,
): number | null {
  const next = parseSchedule(plan).nextRun(new Date(after))?.getTime() ?? null;
  return next === null || (plan.end_at !== null && next > plan.end_at) ? null : next;
}

export function nextOf(cron: CronRow, now: number): NextFiring {
  const next_at = cron.enabled ? nextFiring(cron, now) : null;
  return { next_at, tries: 0, retry_at: null };
}

export function afterFiring(cron: CronRow, outcome: FiringOutcome, now: number): NextFiring {
  if (outcome !== "retry") return nextOf(cron, now);
  const pause = RETRY_MS[Math.min(cron.tries, RETRY_MS.length - 1)] ?? 0;
  return { next_at: cron.next_at, tries: cron.tries + 1, retry_at: now + pause };
}

export function isRescheduled(before: CronRow, cron: CronRow): boolean {
  return (["schedule", "timezone", "end_at", "enabled"] as const).some(
    (field) => before[field] !== cron[field],
  );
}

export function scheduleProblem(plan: Schedule, now: number): ScheduleProblem | null {
  if (plan.timezone !== null && !isTimeZone(plan.timezone)) {
    const text = `"${plan.timezone}" is not an IANA time zone such as "Europe/Paris"`;
    return { field: "timezone", text };
  }
  try {
    if (nextFiring({ ...plan, end_at: null }, now) !== null) return null;
    return { field: "schedule", text: "never fires: no date matches" };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const text = `must have five fields (minute, hour, day, month, weekday), such as "0 9 * * 1-5": ${why}`;
    return { field: "schedule", text };
  }
}

/**
 * Parses a schedule. Checks the number of fields first, because `Cron` would accept a date too. Without a function
 * argument `Cron` sets no timer. `no-wildcard` handles the beginning and end of summer time as Vixie cron does.
 */
function parseSchedule({ schedule, timezone }: Schedule): Cron {
  const fields = schedule.trim().split(/\s+/).length;
  if (fields !== 5 && !schedule.startsWith("@")) throw new Error(`it has ${fields}`);
  return new Cron(schedule, {
    mode: "5-part",
    timezone: timezone ?? "UTC",
    fixedTimeRule: "no-wildcard",
  });
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
