import { log } from "../../shared/log.ts";
import { withTimeout } from "../../shared/work/timeout.ts";
import { TtlCache } from "../../shared/work/ttl-cache.ts";
import type { Health, HealthCheck } from "./health-schema.ts";
import { OLDEST_WORK, type OldestWork } from "./oldest-work.ts";

type Rule = Pick<HealthCheck, "threshold" | "unit"> & { remedy: string };

const RULES: Record<HealthCheck["name"], Rule> = {
  database_latency: {
    threshold: 2000,
    unit: "ms",
    remedy: "Check the status of D1, and the load of its database.",
  },
  // A D1 database holds at most 10 GB.
  database_size: {
    threshold: 8_000_000_000,
    unit: "bytes",
    remedy: "Delete deployments and projects, or move workspaces to another region.",
  },
  storage_latency: { threshold: 2000, unit: "ms", remedy: "Check the status of R2." },
  sweep_age: {
    threshold: 300,
    unit: "s",
    remedy: "Check the cron triggers of the Worker, and `job_failed` in its log.",
  },
  build_age: {
    threshold: 1800,
    unit: "s",
    remedy: "Check the queue heddle-builds, the builder, and `build_attempt_failed` in the log.",
  },
  export_age: {
    threshold: 900,
    unit: "s",
    remedy: "Check the queue heddle-exports, and `message_failed` in the log.",
  },
  export_file_age: {
    threshold: 900,
    unit: "s",
    remedy: "Check the queue heddle-exports, and `export_file_failed` in the log.",
  },
  export_window_age: {
    threshold: 900,
    unit: "s",
    remedy: "Check `job_failed` and `window_not_spawned` in the log.",
  },
  webhook_age: {
    threshold: 600,
    unit: "s",
    remedy: "Check the queue heddle-webhooks, and `message_failed` in the log.",
  },
  project_deletion_age: {
    threshold: 6 * 3600,
    unit: "s",
    remedy: "Check the queue heddle-deletions, and `message_failed` in the log.",
  },
};

/** Object in R2 whose upload time is the end of the last tick. In D1 it could not be read while D1 is down. */
const TICK_KEY = "health/tick";
const CACHE_MS = 5000;
/** A store that takes longer counts as failed, so that monitoring gets an answer. */
const TIMEOUT_MS = 5000;

/** While one caller measures again, others get the last measurement. */
const cache = new TtlCache<Health>(CACHE_MS, 1, TIMEOUT_MS);

/** Caches the measurement for five seconds in each isolate, because anyone may call it. */
export function getHealth(env: Env): Promise<Health> {
  return cache.get("", () => checkHealth(env, new Date()));
}

/** Records the end of a tick, after its last job. */
export async function recordTick(env: Env): Promise<void> {
  await env.ARTIFACTS.put(TICK_KEY, "");
}

export async function checkHealth(env: Env, now: Date): Promise<Health> {
  const [database, storage] = await Promise.all([
    measure("database", async () =>
      env.DB.prepare(OLDEST_WORK).bind(now.toISOString()).run<OldestWork>(),
    ),
    measure("storage", async () => env.ARTIFACTS.head(TICK_KEY)),
  ]);
  const checks = [
    toLatencyCheck("database_latency", database),
    toValueCheck("database_size", database.result?.meta.size_after),
    toLatencyCheck("storage_latency", storage),
    toTickCheck(storage, now),
    ...workChecks(database.result?.results[0], now),
  ];
  const isOk = checks.every((check) => check.status === "ok");
  return { status: isOk ? "ok" : "stuck", checked_at: now.toISOString(), checks };
}

/** `result` is `undefined` when the store failed. */
type Measured<T> = { ms: number; result: T | undefined };

async function measure<T>(store: string, read: () => Promise<T>): Promise<Measured<T>> {
  const started_at = Date.now();
  const fail = (error: unknown) => {
    log.error("health_check_failed", error, { store });
    return undefined;
  };
  const late = () => fail(`No answer in ${TIMEOUT_MS} ms`);
  const result = await withTimeout<T | undefined>(read().catch(fail), TIMEOUT_MS, late);
  return { ms: Date.now() - started_at, result };
}

function toLatencyCheck(name: HealthCheck["name"], { ms, result }: Measured<unknown>): HealthCheck {
  const isOk = result !== undefined && ms <= RULES[name].threshold;
  return toCheck(name, isOk ? "ok" : "stuck", ms);
}

/** Before the first tick the cron counts as stuck: it runs each minute. */
function toTickCheck({ result }: Measured<R2Object | null>, now: Date): HealthCheck {
  if (result === null) return toCheck("sweep_age", "stuck", null);
  return toValueCheck("sweep_age", result && secondsSince(result.uploaded.getTime(), now));
}

function workChecks(row: OldestWork | undefined, now: Date): HealthCheck[] {
  const names = [
    "build_age",
    "export_age",
    "export_file_age",
    "export_window_age",
    "webhook_age",
    "project_deletion_age",
  ] as const;
  return names.map((name) => {
    const since = row?.[name] ?? null;
    const age = since === null ? null : secondsSince(Date.parse(since), now);
    return toValueCheck(name, row === undefined ? undefined : age);
  });
}

/** `undefined` for a value that is not known, `null` when nothing waits. */
function toValueCheck(name: HealthCheck["name"], value: number | null | undefined): HealthCheck {
  if (value === undefined) return toCheck(name, "unknown", null);
  return toCheck(name, (value ?? 0) <= RULES[name].threshold ? "ok" : "stuck", value);
}

function toCheck(
  name: HealthCheck["name"],
  status: HealthCheck["status"],
  value: number | null,
): HealthCheck {
  const { remedy, ...rule } = RULES[name];
  return { name, status, value, ...rule, remedy: status === "stuck" ? remedy : null };
}

function secondsSince(time: number, now: Date): number {
  return Math.max(0, Math.round((now.getTime() - time) / 1000));
}
