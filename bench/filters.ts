// Prints one JSON object: what filters over the days of a project cost through the local stack, with the reads of R2. The
// runs come through ingestion; a week and a quiet hour seem to have passed since, so that their bodies are in R2.
// Usage: npm run bench:filters -- [--runs 1000000] [--days 2] [--rounds 5] [--hot]
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startStack } from "../local/stack.ts";
import { readOptions } from "../scripts/options.ts";
import { apiOf } from "./client.ts";
import { workerdCpu } from "./cpu.ts";
import { percentile, round, summary, time } from "./measure.ts";
import { startOfRun } from "./seeded-days.ts";

const { values } = readOptions({
  runs: { type: "string", default: "1000000" },
  days: { type: "string", default: "2" },
  rounds: { type: "string", default: "5" },
  hot: { type: "boolean", default: false },
});
const SEEDED = { runs: Number(values.runs), days: Number(values.days) };
const CALLS = 10 * Number(values.rounds);
const BATCH = 1000;
const PAGE = 100;
const DAY_MS = 24 * 60 * 60 * 1000;
const HOUR_MS = DAY_MS / 24;

type Query = { filter?: string; id?: string[]; error?: boolean; cursor?: string } & Range;
type Range = { start_time?: string; end_time?: string };
type BucketReads = { calls: number; bytes: number };
type Page = { runs: { id: string }[]; cursors: { next: string | null } };

const dir = await mkdtemp(join(tmpdir(), "heddle-bench-filters-"));
const stack = await startStack({ dir, quiet: true, main: "bench/worker/index.ts" });
const api = apiOf(stack.info);
try {
  const { id: project = "" } = await api.json("POST", "/api/v1/sessions", { name: "filters" });
  const report = {
    ...{ node: process.version, ...SEEDED, page: PAGE },
    seeding_cpu_us: await seed(project),
    ...(!values.hot && { moving_s: await seconds(() => moveToBucket(project)) }),
    queries: await measureAll(project),
  };
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
} finally {
  await stack.stop();
  await rm(dir, { recursive: true, force: true });
}

async function inside<T>(what: string, query: Record<string, string>): Promise<T> {
  const search = new URLSearchParams({ workspace: stack.info.tenant_id, ...query });
  return (await api.call("POST", `/bench/${what}?${search}`)).json() as Promise<T>;
}

/** Returns the processor time of a run in each tenth of the seeding. */
async function seed(project: string): Promise<(number | null)[]> {
  const tenth = Math.ceil(SEEDED.runs / 10 / BATCH) * BATCH;
  const costs: (number | null)[] = [];
  for (let from = 0; from < SEEDED.runs; from += tenth) {
    const before = await workerdCpu();
    const end = Math.min(from + tenth, SEEDED.runs);
    const duration = await seconds(() => seedRange(project, from, end));
    const after = await workerdCpu();
    const cpu_us = before === null || after === null ? null : (after - before) / (end - from);
    costs.push(cpu_us && round(cpu_us));
    process.stderr.write(`${end} runs, ${round((end - from) / duration)} a second\n`);
  }
  return costs;
}

async function seedRange(project: string, from: number, end: number): Promise<void> {
  const shape = { runs: String(SEEDED.runs), days: String(SEEDED.days) };
  for (let at = from; at < end; at += BATCH) {
    const count = Math.min(BATCH, end - at);
    await inside("seed", { project, ...shape, from: String(at), count: String(count) });
  }
}

/** Moves the bodies of all partitions to R2. */
async function moveToBucket(project: string): Promise<void> {
  const slots = await inside<{ day: string; slot: number }[]>("slots", { project });
  for (const { day, slot } of slots) await inside("chill", { project, day, slot: String(slot) });
}

async function measureAll(project: string) {
  const metadata = (key: string, value: string) => ({
    filter: `and(eq(metadata_key, "${key}"), eq(metadata_value, "${value}"))`,
  });
  const middle = startOfRun(SEEDED.runs / 2, SEEDED);
  const day = rangeFrom(middle - (middle % DAY_MS), DAY_MS);
  const few = await page(project, metadata("user_id", "u77"));
  const ids = few.runs.slice(0, 10).map(({ id }) => id);
  return {
    ids: await measure(project, { id: ids }),
    newest: await measure(project, {}),
    an_hour: await measure(project, rangeFrom(middle, HOUR_MS)),
    failed: await measure(project, { error: true }),
    metadata_of_half: await measure(project, metadata("env", "prod")),
    tag_of_all: await measure(project, { filter: 'has(tags, "bench")' }),
    metadata_of_one_in_10_000: await measure(project, metadata("user_id", "u77")),
    tag_of_one_in_10_000: await measure(project, { filter: 'has(tags, "rare")' }),
    metadata_of_one_in_1_000_000: await measure(project, metadata("release", "canary")),
    metadata_of_none: await measure(project, metadata("user_id", "nobody")),
    text_of_a_day: await readAll(project, { filter: 'search("Reykjavik")', ...day }),
  };
}

function rangeFrom(start: number, ms: number): Range {
  return {
    start_time: new Date(start).toISOString(),
    end_time: new Date(start + ms - 1).toISOString(),
  };
}

async function page(project: string, query: Query): Promise<Page> {
  const body = { session: [project], limit: PAGE, ...query };
  return (await api.call("POST", "/api/v1/runs/query", body)).json() as Promise<Page>;
}

/** Measures a query: its first call, with cold caches, apart from the later ones. */
async function measure(project: string, query: Query) {
  await takeReads();
  let found = 0;
  const call = async () => {
    found = (await page(project, query)).runs.length;
  };
  const first_ms = round(await time(call));
  const first = await takeReads();
  const times: number[] = [];
  for (let n = 0; n < CALLS; n++) times.push(await time(call));
  const later = await takeReads();
  const reads = { calls: later.calls / CALLS, bytes: Math.round(later.bytes / CALLS) };
  return { found, first_ms, ...summary(times), r2_first: first, r2_later: reads };
}

async function readAll(project: string, query: Query) {
  await takeReads();
  const times: number[] = [];
  let found = 0;
  let cursor: string | null = null;
  do {
    const from: Query = cursor === null ? query : { ...query, cursor };
    times.push(
      await time(async () => {
        const { runs, cursors } = await page(project, from);
        found += runs.length;
        cursor = cursors.next;
      }),
    );
  } while (cursor !== null);
  const longest_ms = percentile(times, 1);
  return { found, pages: times.length, ...summary(times), longest_ms, r2: await takeReads() };
}

function takeReads(): Promise<BucketReads> {
  return inside("reads", {});
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  return round((await time(work)) / 1000);
}
