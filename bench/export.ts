// Prints one JSON object for each shape: an export from its POST to COMPLETED through the local stack, unsealed and sealed,
// with all and with some fields, the writing of its files alone, and DuckDB writing the same rows with one thread, in turns,
// with the ratios. Progress goes to stderr.
// Usage: npm run bench:export -- [--rounds 3] [--growth] [--million] [--profile folder]
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { freePort } from "../local/processes/ports.ts";
import { startStack } from "../local/stack.ts";
import { readOptions } from "../scripts/options.ts";
import { bucketOf } from "./bucket.ts";
import { apiOf } from "./client.ts";
import { workerdCpu } from "./cpu.ts";
import { type Inspector, inspect, liveHeap, profile, watchHeap } from "./inspector.ts";
import { percentile, round, time } from "./measure.ts";

const { values: options } = readOptions({
  rounds: { type: "string", default: "3" },
  growth: { type: "boolean", default: false },
  million: { type: "boolean", default: false },
  profile: { type: "string" },
});
const ROUNDS = Number(options.rounds);

/** `size`: how many times as long as 2 KB. */
type Shape = { rows: number; size: number };
const SHAPES: Shape[] = [
  ...(options.growth || options.million ? [{ rows: 10_000, size: 1 }] : []),
  { rows: 100_000, size: 1 },
  { rows: 10_000, size: 10 },
  ...(options.million ? [{ rows: 1_000_000, size: 1 }] : []),
];
const SEED_ROWS = 500;
const SEEDS_AT_ONCE = 1;
const POLL_MS = 20;
/** Far more than an export needs for a row on a busy machine: the time after which it is stuck. */
const MAX_MS_PER_ROW = 1;
const MIN_PATIENCE_MS = 120_000;
/** Fields of a report of costs. */
const FIELDS = ["id", "trace_id", "name", "start_time", "end_time", "total_tokens", "total_cost"];
const RANGE = { start_time: "2026-11-01T00:00:00Z", end_time: "2026-12-01T00:00:00Z" };

const dir = await mkdtemp(join(tmpdir(), "heddle-bench-export-"));
const inspector_port = await freePort();
const stack = await startStack({
  ...{ dir: join(dir, "stack"), quiet: true },
  ...{ main: "bench/worker/index.ts", inspector_port },
});
const api = apiOf(stack.info);
const bucket = bucketOf(stack.info);

try {
  const inspector = await inspect(inspector_port);
  const destination = await createDestination();
  console.log(JSON.stringify({ node: process.version, rounds: ROUNDS }));
  for (const shape of SHAPES) {
    console.log(JSON.stringify(await measureShape(shape, destination, inspector)));
  }
  inspector.close();
} finally {
  await stack.stop();
  await rm(dir, { recursive: true, force: true });
}

async function measureShape(shape: Shape, destination: string, inspector: Inspector) {
  const { id: session_id } = await api.json("POST", "/api/v1/sessions", {
    name: `export-${shape.rows}-${shape.size}`,
  });
  const { rows, size } = shape;
  await step(`seeded ${rows} rows of ${2 * size} KB`, () => seed(session_id ?? "", shape));
  const format = { format_version: "v2_beta" };
  const order = {
    bulk_export_destination_id: destination,
    session_id: session_id ?? "",
    ...format,
  };
  const first = await step("exported once", () => exportOnce(order, rows));
  const duckdb = await step("loaded into DuckDB", () => duckdbOf(first.files));
  const heap = watchHeap(inspector);
  const exported: Measurement[] = [];
  const fromSealed: Measurement[] = [];
  const fields: Measurement[] = [];
  const sealedFields: Measurement[] = [];
  const chosen = { ...order, export_fields: FIELDS };
  const firsts: number[] = [];
  const copied: Measurement[] = [];
  for (let n = 0; n < ROUNDS; n++) {
    await unseal(order.session_id);
    const choose = () => exportOnce(chosen, rows);
    fields.push(await step("exported some fields", () => measured(workerdCpu, choose)));
    const work = async () => void firsts.push((await exportOnce(order, rows)).first_seconds);
    exported.push(await step("exported", () => measured(workerdCpu, work)));
    const copy = () => exportOnce(order, rows);
    fromSealed.push(await step("exported sealed", () => measured(workerdCpu, copy)));
    sealedFields.push(await step("exported sealed fields", () => measured(workerdCpu, choose)));
    copied.push(await step("written by DuckDB", () => measured(ownCpu, duckdb.write)));
  }
  const peak = heap.stop();
  const sent = await step("sealed files written alone", () => writeFiles(first));
  const unsealFirst = () => unseal(order.session_id);
  const written = await step("files written alone", () => writeFiles(first, unsealFirst));
  if (options.profile) {
    const path = join(options.profile, `export-${shape.rows}-${shape.size}.cpuprofile`);
    await writeFile(path, await profile(inspector, () => writeFiles(first, unsealFirst)));
  }
  duckdb.close();
  const speeds = {
    export: speedOf(exported, shape.rows),
    sealed_export: speedOf(fromSealed, shape.rows),
    fields: speedOf(fields, shape.rows),
    sealed_fields: speedOf(sealedFields, shape.rows),
    writer: speedOf(written, shape.rows),
    sealed_writer: speedOf(sent, shape.rows),
    duckdb: speedOf(copied, shape.rows),
  };
  return {
    ...{ rows: shape.rows, raw_mb: duckdb.raw_mb, files: first.files.length },
    ...{ export_s: exported.map(({ seconds }) => round(seconds)), first_file_s: firsts.map(round) },
    ...speeds,
    of_duckdb: {
      export: ratio(speeds.export, speeds.duckdb),
      sealed_export: ratio(speeds.sealed_export, speeds.duckdb),
      writer: ratio(speeds.writer, speeds.duckdb),
      sealed_writer: ratio(speeds.sealed_writer, speeds.duckdb),
    },
    heap: { peak, after: await liveHeap(inspector) },
  };
}

async function step<T>(label: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const result = await work();
  console.error(`${label}: ${round((performance.now() - started) / 1000)} s`);
  return result;
}

/** `cpu_seconds` is processor time, which a busy machine distorts less. */
type Measurement = { seconds: number; cpu_seconds: number };
type Speed = { rows_per_second: number; rows_per_cpu_second: number };

async function measured(cpu: () => Promise<number | null>, work: () => Promise<unknown>) {
  const before = await cpu();
  const ms = await time(work);
  const after = await cpu();
  return { seconds: ms / 1000, cpu_seconds: ((after ?? 0) - (before ?? 0)) / 1e6 };
}

async function ownCpu(): Promise<number> {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function speedOf(rounds: Measurement[], rows: number): Speed {
  const rate = (of: keyof Measurement) =>
    Math.round(
      rows /
        percentile(
          rounds.map((one) => one[of]),
          0.5,
        ),
    );
  return { rows_per_second: rate("seconds"), rows_per_cpu_second: rate("cpu_seconds") };
}

function ratio(ours: Speed, theirs: Speed) {
  return {
    wall: round(ours.rows_per_second / theirs.rows_per_second),
    cpu: round(ours.rows_per_cpu_second / theirs.rows_per_cpu_second),
  };
}

async function createDestination(): Promise<string> {
  const { endpoint, region, bucket: bucket_name, ...credentials } = stack.info.s3;
  const { id } = await api.json("POST", "/api/v1/bulk-exports/destinations", {
    ...{ destination_type: "s3", display_name: "bench", credentials },
    config: { bucket_name, prefix: "bench", region, endpoint_url: endpoint },
  });
  return id ?? "";
}

async function seed(project: string, { rows, size }: Shape): Promise<void> {
  const step = Math.ceil(SEED_ROWS / size);
  const left = Array.from({ length: Math.ceil(rows / step) }, (_, n) => n * step);
  const worker = async () => {
    for (let from = left.shift(); from !== undefined; from = left.shift()) {
      const count = String(Math.min(step, rows - from));
      const numbers = { from: String(from), count, size: String(size) };
      await bench("seed-rows", { workspace: stack.info.tenant_id, project, ...numbers });
    }
  };
  await Promise.all(Array.from({ length: SEEDS_AT_ONCE }, worker));
}

/** Drops the sealed files, so that the next export encodes the rows and seals them. */
async function unseal(project: string): Promise<void> {
  await bench("unseal", { workspace: stack.info.tenant_id, project });
}

async function bench(what: string, query: Record<string, string>): Promise<unknown> {
  return (await api.call("POST", `/bench/${what}?${new URLSearchParams(query)}`)).json();
}

type Exported = { id: string; seconds: number; first_seconds: number; files: string[] };

async function exportOnce(order: object, rows: number): Promise<Exported> {
  const started = performance.now();
  const since = () => (performance.now() - started) / 1000;
  const { id = "" } = await api.json("POST", "/api/v1/bulk-exports", { ...order, ...RANGE });
  const prefix = `bench/export_id=${id}/`;
  const patience = Math.max(MIN_PATIENCE_MS, rows * MAX_MS_PER_ROW) / 1000;
  let first_seconds = Number.POSITIVE_INFINITY;
  while (!(await isCompleted(id, rows))) {
    if (since() > patience) throw new Error(`The export ${id} did not end in ${patience} s`);
    if (first_seconds > since() && (await bucket.keys(prefix)).length > 0) first_seconds = since();
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const seconds = since();
  const files = (await bucket.keys(prefix)).filter((key) => key.endsWith(".parquet"));
  return { id, seconds, first_seconds: Math.min(seconds, first_seconds), files };
}

type ExportRow = { status: string; error: string | null; progress: { rows_written: number } };

async function isCompleted(id: string, rows: number): Promise<boolean> {
  const answer = await api.call("GET", `/api/v1/bulk-exports/${id}`);
  const { status, error, progress } = (await answer.json()) as ExportRow;
  if (status === "CREATED" || status === "RUNNING") return false;
  if (status !== "COMPLETED") throw new Error(`The export is ${status}: ${error}`);
  if (progress.rows_written !== rows) {
    throw new Error(`${progress.rows_written} rows are written, not ${rows}`);
  }
  return true;
}

/** Writes all files, one after the other, without queue and catalogue. */
async function writeFiles(
  { id, files }: Exported,
  before = async (): Promise<void> => undefined,
): Promise<Measurement[]> {
  const rounds: Measurement[] = [];
  for (let n = 0; n < ROUNDS; n++) {
    await before();
    const work = async () => {
      for (const number of files.keys()) {
        await bench("write-again", { export: id, number: String(number) });
      }
    };
    rounds.push(await measured(workerdCpu, work));
  }
  return rounds;
}

async function duckdbOf(keys: string[]) {
  const paths: string[] = [];
  for (const key of keys) {
    const path = join(dir, key);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, await bucket.bytes(key));
    paths.push(path);
  }
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const db = await instance.connect();
  const list = paths.map((path) => `'${path}'`).join();
  await db.run(
    `CREATE TABLE runs AS SELECT * FROM read_parquet([${list}], hive_partitioning = false)`,
  );
  const raw_mb = await rawMegabytes(db, list);
  const target = join(dir, "duckdb.parquet");
  const copy = `COPY runs TO '${target}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1)`;
  return {
    raw_mb,
    write: () => db.run(copy),
    close() {
      db.closeSync();
      instance.closeSync();
    },
  };
}

async function rawMegabytes(db: DuckDBConnection, list: string): Promise<number> {
  const sum = `SELECT sum(total_uncompressed_size)::DOUBLE FROM parquet_metadata([${list}])`;
  const [[bytes] = []] = (await db.runAndReadAll(sum)).getRows();
  return round(Number(bytes) / 1e6);
}
