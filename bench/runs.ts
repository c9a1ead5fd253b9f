// Prints one JSON object: what a run costs through the local stack, beside the same graph in this Node.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemorySaver } from "@langchain/langgraph";
import { startStack } from "../local/stack.ts";
import { readOptions } from "../scripts/options.ts";
import { builder } from "./agent/graph.ts";
import { type Api, apiOf, readStream } from "./client.ts";
import { addRevision, createDeployment, type GitUrls, pushAgent } from "./deployments.ts";
import { percentile, round, sample, summary, time } from "./measure.ts";

const input = { messages: [{ role: "user", content: "hello" }] };
const body = { assistant_id: "echo", input };
const RUNS = 300;
const OTHER_VERSIONS = { "@langchain/core": "1.3.4" };

async function main() {
  const dir = await mkdtemp(join(tmpdir(), "heddle-bench-stack-"));
  const stack = await startStack({ dir, quiet: true });
  try {
    const api = apiOf(stack.info);
    const deploys = await benchDeploys(api, stack.info.git);
    const agent = `/agents/${deploys.id}`;
    await benchStream(api, agent, 50);
    const stream = await benchStream(api, agent, RUNS);
    const wait = summary(
      await sample(
        RUNS,
        async () => void (await (await api.call("POST", `${agent}/runs/wait`, body)).text()),
      ),
    );
    const report = {
      node: process.version,
      http_only: summary(
        await sample(RUNS, async () => void (await (await api.call("GET", "/ok")).text())),
      ),
      threadless_stream: stream,
      threadless_wait: wait,
      threadless_8_at_once: await benchThroughput(api, agent, 8),
      enqueued_50_on_one_thread_ms: await benchEnqueued(api, agent, 1, 50),
      threads_20_runs_5_ms: await benchEnqueued(api, agent, 20, 5),
      cold_revision_first_call_ms: await benchCold(api, deploys.id),
      deployed_ms: deploys.times,
      deployed_other_versions_ms: await benchOtherVersions(api, stack.info.git),
      in_process: await benchInProcess(),
    };
    const ratio = round(report.threadless_stream.end.p50_ms / report.in_process.p50_ms);
    process.stdout.write(
      `${JSON.stringify({ ...report, end_to_in_process_ratio: ratio }, null, 2)}\n`,
    );
  } finally {
    await stack.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

async function benchDeploys(api: Api, git: GitUrls) {
  const url = await pushAgent(git, "echo");
  let id = "";
  const empty_caches = await time(async () => {
    id = await createDeployment(api, "bench-cold", url);
  });
  const warm_caches = await time(() => createDeployment(api, "bench-warm", url));
  return { id, times: { empty_caches: round(empty_caches), warm_caches: round(warm_caches) } };
}

/** Builds with a version of core that is not prebuilt. */
async function benchOtherVersions(api: Api, git: GitUrls) {
  const url = await pushAgent(git, "other", OTHER_VERSIONS);
  const empty = await time(() => createDeployment(api, "bench-other", url));
  const warm = await time(() => createDeployment(api, "bench-other-2", url));
  return { empty_caches: round(empty), warm_caches: round(warm) };
}

async function benchStream(api: Api, agent: string, count: number) {
  const first: number[] = [];
  const end = await sample(count, async () => {
    const started = performance.now();
    const response = await api.call("POST", `${agent}/runs/stream`, body);
    await readStream(response, () => first.push(performance.now() - started));
  });
  return { first_event: summary(first), end: summary(end) };
}

async function benchThroughput(api: Api, agent: string, at_once: number) {
  const times: number[] = [];
  const total = await time(() =>
    Promise.all(
      Array.from({ length: at_once }, async () => {
        const own = await sample(RUNS / at_once, async () => {
          await readStream(await api.call("POST", `${agent}/runs/stream`, body), () => {});
        });
        times.push(...own);
      }),
    ),
  );
  return { runs_per_second: round(times.length / (total / 1000)), ...summary(times) };
}

/** Sends all runs at once. Returns the time until the last result, the median of five rounds. */
async function benchEnqueued(api: Api, agent: string, threads: number, runs: number) {
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    const created = await Promise.all(
      Array.from({ length: threads }, () => api.json("POST", `${agent}/threads`, {})),
    );
    const paths = created.flatMap(({ thread_id }) =>
      Array.from({ length: runs }, () => `${agent}/threads/${thread_id}/runs/wait`),
    );
    const wait = async (path: string) => (await api.call("POST", path, body)).text();
    times.push(await time(() => Promise.all(paths.map(wait))));
  }
  return percentile(times, 0.5);
}

async function benchCold(api: Api, id: string) {
  const times: number[] = [];
  for (let index = 0; index < 3; index++) {
    await addRevision(api, id);
    times.push(
      await time(async () => (await api.call("POST", `/agents/${id}/runs/wait`, body)).text()),
    );
  }
  return percentile(times, 0.5);
}

async function benchInProcess() {
  const graph = builder.compile({ checkpointer: new MemorySaver() });
  const run = async (index: number) => {
    const config = { configurable: { thread_id: `t${index}` }, streamMode: "values" as const };
    for await (const _chunk of await graph.stream(input as never, config));
  };
  await sample(50, run);
  return summary(await sample(RUNS, (index) => run(index + 50)));
}

readOptions({});
await main();
