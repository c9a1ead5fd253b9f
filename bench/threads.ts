// Prints one JSON object: what a run costs on a thread of a thousand messages, beside one of ten.
// Usage: npm run bench:threads -- [--runs 40] [--characters 200]
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startStack } from "../local/stack.ts";
import { readOptions } from "../scripts/options.ts";
import { type Api, apiOf, readStream } from "./client.ts";
import { workerdCpu } from "./cpu.ts";
import { createDeployment, pushAgent } from "./deployments.ts";
import { percentile, round, time } from "./measure.ts";
import { threadBytes } from "./thread-bytes.ts";

const { values } = readOptions({
  runs: { type: "string", default: "40" },
  characters: { type: "string", default: "200" },
});
const RUNS = Number(values.runs);
const CHARACTERS = Number(values.characters);
const SIZES = [10, 1000] as const;
const MODES = ["values", "updates"] as const;

/** Returns text that differs from message to message, as text of people does. */
function content(n: number): string {
  const words = `message ${n} of a long conversation that continues `;
  return words.repeat(Math.ceil(CHARACTERS / words.length)).slice(0, CHARACTERS);
}

const messages = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    role: n % 2 ? "assistant" : "user",
    content: content(n),
  }));

type BenchContext = { api: Api; agent: string; dir: string };

async function main() {
  const dir = await mkdtemp(join(tmpdir(), "heddle-bench-stack-"));
  const stack = await startStack({ dir, quiet: true });
  try {
    const api = apiOf(stack.info);
    const report: Record<string, unknown> = { runs: RUNS, characters: CHARACTERS };
    for (const tracing of ["true", "false"]) {
      const name = `traced-${tracing}`;
      const env = { LANGSMITH_TRACING: tracing };
      const url = await pushAgent(stack.info.git, name, {}, env);
      const agent = `/agents/${await createDeployment(api, name, url)}`;
      report[name] = await benchAgent({ api, agent, dir });
    }
    process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  } finally {
    await stack.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

async function benchAgent(place: BenchContext) {
  for (const size of SIZES) await benchThread(place, size, "values", 5);
  const report: Record<string, unknown> = {};
  for (const mode of MODES) {
    const costs: Cost[] = [];
    for (const size of SIZES) costs.push(await benchThread(place, size, mode, RUNS));
    const sizes = Object.fromEntries(SIZES.map((size, n) => [size, costs[n]]));
    report[mode] = { ...sizes, ratio: ratios(costs) };
  }
  return report;
}

type Cost = Record<"cpu_ms" | "wall_ms" | "bytes", number> & { tables: Record<string, number> };

/** Measures a run on a thread that has this many messages. */
async function benchThread(
  { api, agent, dir }: BenchContext,
  size: number,
  stream_mode: string,
  runs: number,
): Promise<Cost> {
  const { thread_id = "" } = await api.json("POST", `${agent}/threads`, {});
  const path = `${agent}/threads/${thread_id}`;
  const run = async (input: unknown) => {
    const body = { assistant_id: "echo", input, stream_mode };
    const text = await readStream(await api.call("POST", `${path}/runs/stream`, body), () => {});
    if (text.includes("event: error")) throw new Error(text.slice(-500));
  };
  await run({ messages: messages(size - 1) });
  await run({ messages: messages(1) });
  await settled(api, path);
  const [bytes, cpu] = [await threadBytes(dir, thread_id), await workerdCpu()];
  const times: number[] = [];
  for (let n = 0; n < runs; n++) times.push(await time(() => run({ messages: messages(1) })));
  await settled(api, path);
  const [bytesAfter, cpuAfter] = [await threadBytes(dir, thread_id), await workerdCpu()];
  return {
    cpu_ms: round(((cpuAfter ?? 0) - (cpu ?? 0)) / 1000 / runs),
    wall_ms: percentile(times, 0.5),
    bytes: Math.round((bytesAfter.total - bytes.total) / runs),
    tables: Object.fromEntries(
      Object.entries(bytesAfter.tables).map(([name, sum]) => [
        name,
        Math.round((sum - (bytes.tables[name] ?? 0)) / runs),
      ]),
    ),
  };
}

/** Waits for work after the answer: the writes to the directory and the traces. */
async function settled(api: Api, path: string) {
  await new Promise((done) => setTimeout(done, 1500));
  await api.json("GET", path);
}

function ratios(costs: Cost[]) {
  const [small, large] = costs;
  if (!small || !large) throw new Error("Nothing was measured");
  const of = (what: "cpu_ms" | "wall_ms" | "bytes") => round(large[what] / small[what]);
  return { cpu: of("cpu_ms"), wall: of("wall_ms"), bytes: of("bytes") };
}

await main();
