// Prints one JSON object: what runs cost through the local stack, beside the same rows in the object alone. The scan
// reads the rows of the ingestion, so it cannot run alone.
// Usage: npm run bench:traces -- [--rounds 5] [--only ingestion]
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type StackInfo, startStack } from "../local/stack.ts";
import { readOptions } from "../scripts/options.ts";
import { apiOf } from "./client.ts";
import { workerdCpu } from "./cpu.ts";
import { percentile, round, time } from "./measure.ts";
import { type Body, batchBody, multipartBody, otlpBody } from "./trace-bodies.ts";

const { values } = readOptions({
  rounds: { type: "string", default: "5" },
  only: { type: "string", default: "ingestion,scan" },
});
const ROUNDS = Number(values.rounds);
const PARTS = values.only.split(",");
const SEED_DAY = "2026-05-05";
const AT_ONCE = 4;

type Shape = { runs: number; bytes: number; requests: number };
const SHAPES: Shape[] = [
  { runs: 100, bytes: 2000, requests: 40 },
  { runs: 500, bytes: 2000, requests: 12 },
  { runs: 100, bytes: 20_000, requests: 12 },
  { runs: 500, bytes: 20_000, requests: 4 },
];

async function main() {
  const dir = await mkdtemp(join(tmpdir(), "heddle-bench-stack-"));
  const stack = await startStack({ dir, quiet: true, main: "bench/worker/index.ts" });
  try {
    const bench = benchOf(stack.info);
    const report: Record<string, unknown> = { node: process.version };
    if (PARTS.includes("ingestion")) {
      const shapes = [];
      for (const shape of SHAPES) shapes.push(await bench.ingestion(shape));
      report.ingestion = shapes;
      if (PARTS.includes("scan")) report.scan = await bench.scan();
    }
    process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  } finally {
    await stack.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

function benchOf(info: StackInfo) {
  const api = apiOf(info);
  const send = async ({ path, type, encoding, bytes }: Body) => {
    const headers = {
      "X-Api-Key": info.api_key,
      "Content-Type": type,
      ...(encoding && { "Content-Encoding": encoding }),
    };
    const response = await fetch(`${info.base_url}${path}`, {
      method: "POST",
      headers,
      body: bytes,
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    await response.text();
  };
  const inside = async (what: string, query: Record<string, string>, body?: Body) => {
    const search = new URLSearchParams({ workspace: info.tenant_id, ...query });
    const path = `/bench/${what}?${search}`;
    if (body) return send({ ...body, path });
    return (await api.call("POST", path)).json() as Promise<number>;
  };
  const projectOf = async (name: string) => {
    const found = (await api.json("GET", `/sessions?name=${name}`)) as unknown as { id: string }[];
    return found[0]?.id ?? "";
  };

  async function ingestion({ runs, bytes, requests }: Shape) {
    const project = `ingest-${runs}-${bytes}`;
    const through = async (bodyOf: typeof batchBody) => {
      const bodies = Array.from({ length: requests }, () => bodyOf(project, runs, bytes));
      return measure(runs * requests, () => inParallel(bodies, send));
    };
    const alone = async (n: number) => {
      const query = { project: `alone-${n}-${project}`, day: SEED_DAY };
      for (let k = 0; k < requests; k++) {
        await inside("prepare", query, batchBody(project, runs, bytes));
      }
      return measure(runs * requests, async () => void (await inside("insert", query)));
    };
    await through(batchBody);
    const rounds = {
      batch: [] as Measurement[],
      multipart: [] as Measurement[],
      otlp: [] as Measurement[],
      alone: [] as Measurement[],
    };
    for (let n = 0; n < ROUNDS; n++) {
      rounds.batch.push(await through(batchBody));
      rounds.multipart.push(await through(multipartBody));
      rounds.otlp.push(await through(otlpBody));
      rounds.alone.push(await alone(n));
    }
    return { runs_per_request: runs, bytes_per_run: bytes, ...compared(rounds) };
  }

  async function scan() {
    const rounds = { rpc: [] as Measurement[], alone: [] as Measurement[] };
    const project = await projectOf("ingest-500-2000");
    const day = new Date().toISOString().slice(0, 10);
    const query = { project, day };
    const rows = (await inside("scan-alone", query)) ?? 0;
    for (let n = 0; n < ROUNDS; n++) {
      rounds.rpc.push(await measure(rows, async () => void (await inside("scan", query))));
      rounds.alone.push(await measure(rows, async () => void (await inside("scan-alone", query))));
    }
    return { rows, ...compared(rounds) };
  }

  return { ingestion, scan };
}

type Measurement = { per_second: number; cpu_us: number | null };

async function measure(rows: number, work: () => Promise<void>): Promise<Measurement> {
  const before = await workerdCpu();
  const ms = await time(work);
  const after = await workerdCpu();
  const cpu_us = before === null || after === null ? null : (after - before) / rows;
  return { per_second: (rows / ms) * 1000, cpu_us };
}

function compared<K extends string>(rounds: Record<K | "alone", Measurement[]>) {
  const medianOf = (name: K | "alone") => median(rounds[name].map((one) => one.per_second));
  return Object.fromEntries(
    (Object.keys(rounds) as (K | "alone")[]).map((name) => {
      const speeds = rounds[name].map((one) => Math.round(one.per_second));
      return [
        name,
        {
          per_second: Math.round(medianOf(name)),
          spread: [Math.min(...speeds), Math.max(...speeds)],
          workerd_cpu_us: round(median(rounds[name].map((one) => one.cpu_us ?? 0))),
          of_alone: round(medianOf(name) / medianOf("alone")),
        },
      ];
    }),
  );
}

function median(numbers: number[]): number {
  return percentile(numbers, 0.5);
}

async function inParallel<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

await main();
