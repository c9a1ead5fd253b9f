import { request as http } from "node:http";
import { request as https } from "node:https";
import { startSteps } from "./stream-checks.ts";
import { assert, type Check, Skipped, type Target } from "./target.ts";

const PARALLEL = 20;
const DELAY_SECONDS = 3;

export const RUN_CHECKS: Check[] = [
  { name: "run", limit: "loader isolate, object of a new name", run: checkRun },
  { name: "thread", limit: "SQLite of an object, coordinated state", run: checkThread },
  { name: "store", limit: "read after write in an object", run: checkStore },
  {
    name: "parallel runs",
    limit: `${PARALLEL} objects of new names at once`,
    run: checkParallelRuns,
  },
  { name: "queued runs", limit: "order of requests to an object", run: checkQueuedRuns },
  { name: "repeated request", limit: "one transaction in an object", run: checkRepeated },
  { name: "delayed run", limit: "alarm of an object", run: checkDelayed },
  { name: "cancel", limit: "RPC to an isolate that is at work", run: checkCancel },
  { name: "host name", limit: "wildcard route and certificate", run: checkHostName },
];

async function checkRun({ client }: Target): Promise<string> {
  const started = Date.now();
  const values = await client.runs.wait(null, "echo", { input: { text: "hello" } });
  assert(Object(values).echo === "hello", `a run ended with ${JSON.stringify(values)}`);
  return `a run without a thread took ${Date.now() - started} ms`;
}

async function checkThread({ client }: Target): Promise<string> {
  const { thread_id } = await client.threads.create();
  for (const content of ["one", "two"]) {
    const input = { messages: [{ role: "user", content }] };
    await client.runs.wait(thread_id, "echo", { input });
  }
  const { values } = await client.threads.getState<{ messages: unknown[]; turns: number }>(
    thread_id,
  );
  assert(values.turns === 2, `a thread has ${values.turns} messages after two runs`);
  return "the second run of a thread reads the state of the first";
}

async function checkStore({ client }: Target): Promise<string> {
  const value = { checked_at: new Date().toISOString() };
  await client.store.putItem(["platform"], "check", value);
  const item = await client.store.getItem(["platform"], "check");
  const isSame = item?.value.checked_at === value.checked_at;
  assert(
    isSame,
    `an item was written as ${JSON.stringify(value)}, and read as ${JSON.stringify(item)}`,
  );
  return "an item is read after it was written";
}

async function checkParallelRuns({ client }: Target): Promise<string> {
  const started = Date.now();
  const results = await Promise.all(
    Array.from({ length: PARALLEL }, (_, n) =>
      client.runs.wait(null, "echo", { input: { text: `${n}` } }),
    ),
  );
  const wrong = results.findIndex((values, n) => Object(values).echo !== `${n}`);
  assert(wrong === -1, `run ${wrong} ended with ${JSON.stringify(results[wrong])}`);
  return `${PARALLEL} runs at once took ${Date.now() - started} ms`;
}

async function checkQueuedRuns({ client }: Target): Promise<string> {
  const { thread_id } = await client.threads.create();
  const contents = ["1", "2", "3", "4", "5"];
  const create = (content: string) =>
    client.runs.create(thread_id, "echo", { input: { messages: [{ role: "user", content }] } });
  for (const content of contents) await create(content);
  const [last] = await client.runs.list(thread_id);
  await client.runs.join(thread_id, last?.run_id ?? "");
  const { values } = await client.threads.getState<{ messages: { content: string }[] }>(thread_id);
  const order = values.messages.map(({ content }) => content).join();
  assert(order === contents.join(), `the runs of a thread ran in the order ${order}`);
  return "five runs that were queued on a thread ran in order";
}

async function checkRepeated(target: Target): Promise<string> {
  const key = `platform-check-${Date.now()}`;
  const { thread_id } = await target.client.threads.create();
  const path = `/agents/${target.agent.id}/threads/${thread_id}/runs`;
  const body = { assistant_id: "echo", input: { text: "once" } };
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => target.fetch("POST", path, body, { "Idempotency-Key": key })),
  );
  const runs = await Promise.all(answers.map((answer) => answer.json()));
  const ids = new Set(runs.map((run) => Object(run).run_id));
  assert(ids.size === 1 && !ids.has(undefined), `5 equal requests: ${JSON.stringify(runs)}`);
  return "five equal requests at once created one run";
}

async function checkDelayed({ client }: Target): Promise<string> {
  const { thread_id } = await client.threads.create();
  const created = Date.now();
  const options = { input: { text: "later" }, afterSeconds: DELAY_SECONDS };
  const { run_id } = await client.runs.create(thread_id, "echo", options);
  await client.runs.join(thread_id, run_id);
  const { status } = await client.runs.get(thread_id, run_id);
  const seconds = (Date.now() - created) / 1000;
  assert(status === "success", `a delayed run ended ${status}`);
  assert(seconds >= DELAY_SECONDS - 1, `a run that was due in ${DELAY_SECONDS} s ran at once`);
  assert(
    seconds < DELAY_SECONDS + 60,
    `a run that was due in ${DELAY_SECONDS} s took ${seconds} s`,
  );
  return `a run that was due in ${DELAY_SECONDS} s ended after ${seconds.toFixed(1)} s`;
}

async function checkCancel(target: Target): Promise<string> {
  const { client } = target;
  const { thread_id, run_id } = await startSteps(target, 10_000);
  for await (const { event } of client.runs.joinStream(thread_id, run_id)) {
    if (event === "updates") break;
  }
  await client.runs.cancel(thread_id, run_id, true);
  const { status } = await client.runs.get(thread_id, run_id);
  assert(status === "interrupted", `a cancelled run is ${status}`);
  return "a running run ends when it is cancelled";
}

async function checkHostName({ settings, agent }: Target): Promise<string> {
  if (settings.agents_domain === undefined) throw new Skipped("give --agents-domain");
  const { protocol } = new URL(settings.url);
  const url = new URL(`${protocol}//${agent.id}.${settings.agents_domain}/runs/wait`);
  const body = JSON.stringify({ assistant_id: "echo", input: { text: "host" } });
  const answer = await post(url, body, settings.key);
  assert(answer.includes('"echo":"host"'), `${url} answered ${answer.slice(0, 300)}`);
  return `an agent answers at ${url.host}`;
}

/** Posts to a URL. Names below `localhost` are those of this machine (RFC 6761), but not every resolver knows that. */
function post(url: URL, body: string, key: string): Promise<string> {
  const isLocal = url.hostname.endsWith(".localhost");
  const options = {
    method: "POST",
    headers: { "X-Api-Key": key, "Content-Type": "application/json", Host: url.host },
    ...(isLocal ? { hostname: "127.0.0.1" } : {}),
  };
  return new Promise((resolve, reject) => {
    const sent = (url.protocol === "https:" ? https : http)(url, options, async (response) => {
      let text = "";
      for await (const chunk of response) text += chunk;
      resolve(text);
    });
    sent.on("error", reject).end(body);
  });
}
