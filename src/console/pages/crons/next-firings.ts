import { Cron } from "croner";

export type CronFields = {
  schedule: string;
  timezone: string;
  /** ISO 8601, empty for a cron without an end. */
  end_time: string;
};

const SHOWN_FIRINGS = 3;
const SCHEDULE_FIELDS = 5;

/**
 * Computes the next firings by the rules of `agent-server/crons/schedule.ts`. The service checks the schedule again.
 */
export function nextFirings({ schedule, timezone, end_time }: CronFields, now: Date) {
  const times: Date[] = [];
  if (!isTimeZone(timezone)) {
    const problem = `“${timezone}” is not an IANA time zone such as Europe/Paris`;
    return { times, problem };
  }
  const count = schedule.trim().split(/\s+/).length;
  if (count !== SCHEDULE_FIELDS && !schedule.startsWith("@")) {
    const fields = "(minute, hour, day, month, weekday)";
    return { times, problem: `The schedule must have five fields ${fields}: it has ${count}` };
  }
  try {
    const end = end_time === "" ? Number.POSITIVE_INFINITY : Date.parse(end_time);
    const cron = new Cron(schedule, {
      mode: "5-part",
      timezone: timezone || "UTC",
      fixedTimeRule: "no-wildcard",
    });
    const next = cron.nextRuns(SHOWN_FIRINGS, now);
    if (next.length === 0) return { times, problem: "The schedule never fires: no date matches" };
    return { times: next.filter((time) => time.getTime() <= end), problem: null };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { times, problem: `Invalid schedule: ${why}` };
  }
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name || "UTC" });
    return true;
  } catch {
    return false;
  }
}
