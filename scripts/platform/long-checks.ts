import { setTimeout as sleep } from "node:timers/promises";
import { startSteps, stepsOf } from "./stream-checks.ts";
import { assert, type Check, type Target } from "./target.ts";

const HOUR_S = 3500;
const STEP_MS = 5000;
/** An idle object is evicted after 70 to 140 seconds. */
const IDLE_S = 180;
/** Without `limits.cpu_ms` an invocation has 30 seconds. */
const CPU_S = 45;
const CRON_MS = 150_000;

export const LONG_CHECKS: Check[] = [
  { name: "agent's cron", limit: "alarm of an object", is_long: true, run: checkCron },
  { name: "idle thread", limit: "eviction after 140 s", is_long: true, run: checkIdle },
  {
    name: "processor time",
    limit: "limits.cpu_ms of an isolate",
    is_long: true,
    not_local: "its pool ends a process that computes for 3 s",
    run: checkProcessor,
  },
  {
    name: "memory",
    limit: "128 MB of an isolate: its owner pays",
    is_long: true,
    not_local: "its pool limits a process to 768 MB; test/e2e/bombs.test.ts",
    run: checkMemory,
  },
  {
    name: "endless loop",
    limit: "limits.cpu_ms of an isolate",
    is_long: true,
    run: checkLoop,
  },
  {
    name: "run of an hour",
    limit: "code_update_strategy, open connections",
    is_long: true,
    not_local: "it takes an hour; test/e2e/crash.test.ts",
    run: checkHour,
  },
];

async function checkCron({ client }: Target): Promise<string> {
  const { thread_id } = await client.threads.create();
  const cron = await client.crons.createForThread(thread_id, "echo", {
    schedule: "* * * * *",
    input: { text: "cron" },
  });
  const deadline = Date.now() + CRON_MS;
  let runs = await client.runs.list(thread_id);
  while (runs.length < 2 && Date.now() < deadline) {
    await sleep(1000);
    runs = await client.runs.list(thread_id);
  }
  await client.crons.delete(Object(cron).cron_id);
  assert(runs.length === 2, `a cron of each minute fired ${runs.length} times in 150 s`);
  return "a cron of each minute fired twice";
}

async function checkIdle(target: Target): Promise<string> {
  const { client } = target;
  const { thread_id } = await client.threads.create();
  const run = async (content: string) => {
    const input = { messages: [{ role: "user", content }] };
    return Object(await client.runs.wait(thread_id, "echo", { input })).turns;
  };
  await run("one");
  target.progress(`the thread is idle for ${IDLE_S} s`);
  await sleep(IDLE_S * 1000);
  const turns = await run("two");
  assert(turns === 2, `a thread that was idle has ${turns} messages after two runs`);
  return `a thread that was idle for ${IDLE_S} s has its state`;
}

async function spin(target: Target, millions: number): Promise<number> {
  const started = Date.now();
  await target.probe("spins", { millions });
  return Date.now() - started;
}

async function checkProcessor(target: Target): Promise<string> {
  const sample = 2000;
  const ms = await spin(target, sample);
  const millions = Math.ceil((sample * CPU_S * 1000) / ms);
  target.progress(`${sample} million rounds took ${ms} ms; now ${millions} million`);
  const long = await spin(target, millions);
  return `a run computed for ${Math.round(long / 1000)} s without a pause`;
}

/**
 * Runs a graph that must end with an error beside another run, which must succeed, and sends requests at the same time.
 */
async function endAlone(target: Target, graph: string, input: Record<string, number>) {
  const { client } = target;
  const neighbour = await startSteps(target, 60, 500);
  const { thread_id } = await client.threads.create();
  const { run_id } = await client.runs.create(thread_id, graph, { input });
  const ended = await target.poll(
    `end of the graph ${graph}`,
    async () => {
      await target.json("GET", "/v1/me");
      const { status } = await client.runs.get(thread_id, run_id);
      return ["pending", "running"].includes(status) ? null : status;
    },
    3_600_000,
  );
  assert(ended === "error", `the graph ${graph} ended ${ended}: it has no limit`);
  await client.runs.join(neighbour.thread_id, neighbour.run_id);
  const { status } = await client.runs.get(neighbour.thread_id, neighbour.run_id);
  assert(status === "success", `a run beside the graph ${graph} ended ${status}`);
}

async function checkMemory(target: Target): Promise<string> {
  await endAlone(target, "hoards", { megabytes: 1000 });
  return "a run that keeps 1 GB ended with an error, and its neighbour with success";
}

async function checkLoop(target: Target): Promise<string> {
  target.progress("each attempt has 120 s of processor time");
  await endAlone(target, "spins", { millions: 1e9 });
  return "a run that never pauses ended with an error, and its neighbour with success";
}

/** A deployment of Heddle during the run must not end it. */
async function checkHour(target: Target): Promise<string> {
  const { client } = target;
  const count = Math.ceil((HOUR_S * 1000) / STEP_MS);
  const { thread_id, run_id } = await startSteps(target, count, STEP_MS);
  target.progress(`run ${run_id} has ${count} steps: deploy Heddle now`);
  const steps: number[] = [];
  let attempts = 0;
  for await (const event of client.runs.joinStream(thread_id, run_id)) {
    if (event.event === "metadata") attempts += 1;
    steps.push(...stepsOf([event]));
    if (steps.length % 60 === 0 && event.event === "updates")
      target.progress(`step ${steps.at(-1)} of ${count}`);
  }
  const { status } = await client.runs.get(thread_id, run_id);
  assert(status === "success", `a run of ${HOUR_S} s ended ${status} after ${steps.length} steps`);
  assert(steps.at(-1) === count, `the last step of ${count} is ${steps.at(-1)}`);
  return `a run of ${HOUR_S} s ended after ${attempts} attempts and ${steps.length} steps`;
}
