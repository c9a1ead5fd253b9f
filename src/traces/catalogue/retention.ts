import { DAY_US, dayOf, toIso, toMicros } from "../../shared/times.ts";
import type { TraceTier } from "../changes.ts";

const DEFAULTS = {
  DEFAULT_TRACE_TIER: "longlived",
  SHORTLIVED_DAYS: "14",
  LONGLIVED_DAYS: "400",
};
type Settings = Partial<typeof DEFAULTS>;

/** UTC days. Before the day `shortlived`, the short-lived traces have expired. Before `longlived`, all have. */
export type ExpiryDays = { shortlived: string; longlived: string };

const MAX_DAYS = 36_500;
const NUMBER = /^\d{1,5}$/;
/** No partition has an earlier day. */
const NEVER = "";

/** Treats an empty variable like one that is not set. */
function settingsOf(env: Settings): typeof DEFAULTS {
  return {
    DEFAULT_TRACE_TIER: env.DEFAULT_TRACE_TIER || DEFAULTS.DEFAULT_TRACE_TIER,
    SHORTLIVED_DAYS: env.SHORTLIVED_DAYS || DEFAULTS.SHORTLIVED_DAYS,
    LONGLIVED_DAYS: env.LONGLIVED_DAYS || DEFAULTS.LONGLIVED_DAYS,
  };
}

/** Returns what is wrong with the variables of retention, `null` when they are valid. */
export function retentionProblem(env: Settings): string | null {
  const { DEFAULT_TRACE_TIER: tier, ...days } = settingsOf(env);
  for (const name of ["SHORTLIVED_DAYS", "LONGLIVED_DAYS"] as const) {
    if (NUMBER.test(days[name]) && Number(days[name]) <= MAX_DAYS) continue;
    return `${name}: must be a number of days from 1 to ${MAX_DAYS}, or 0 to keep traces for good`;
  }
  if (tier === "longlived" || tier === "shortlived") return null;
  return "DEFAULT_TRACE_TIER: must be longlived or shortlived";
}

/** Returns the tier of the installation, for traces whose project and workspace have none. */
export function defaultTier({ DEFAULT_TRACE_TIER }: Settings): TraceTier {
  return DEFAULT_TRACE_TIER === "shortlived" ? "shortlived" : "longlived";
}

/** Days after which traces of each tier are deleted, `null` for never. */
export function retentionDays(env: Settings): Record<TraceTier, number | null> {
  const { SHORTLIVED_DAYS, LONGLIVED_DAYS } = settingsOf(env);
  return { shortlived: Number(SHORTLIVED_DAYS) || null, longlived: Number(LONGLIVED_DAYS) || null };
}

/** Returns the time from which the runs of a day are deleted, `null` for never. */
export function expiryTime(env: Settings, tier: TraceTier, day: string): string | null {
  const days = retentionDays(env)[tier];
  const midnight = toMicros(`${day}T00:00:00Z`);
  return days === null || midnight === null ? null : toIso(midnight + (days + 1) * DAY_US);
}

/** Counts from the end of a day: its last trace must be old enough too. @throws Error for invalid variables */
export function expiryDays(env: Settings, now: Date): ExpiryDays {
  const problem = retentionProblem(env);
  if (problem !== null) throw new Error(problem);
  const before = (days: string) =>
    Number(days) === 0 ? NEVER : dayOf(now.getTime() * 1000 - Number(days) * DAY_US);
  const { SHORTLIVED_DAYS, LONGLIVED_DAYS } = settingsOf(env);
  return { shortlived: before(SHORTLIVED_DAYS), longlived: before(LONGLIVED_DAYS) };
}
