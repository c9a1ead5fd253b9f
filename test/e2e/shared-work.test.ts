// Work that runs share by a module's variable: queues with a limit, a value that loads once, timers and sockets that the
// module starts while it loads.
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { client } from "./support/clients.ts";
import { deploy } from "./support/deployments.ts";
import { killAgents, stack, until } from "./support/stack.ts";

const AGENT = `
import net from "node:net";
import { AsyncCaller } from "@langchain/core/utils/async_caller";
import pLimit from "p-limit";

const limit = pLimit(1);
const caller = new AsyncCaller({ maxConcurrency: 1 });
let loaded;

const ways = {
  limit: (work) => limit(work),
  caller: (work) => caller.call(work),
  once: (work) => (loaded ??= work()),
};

const socket = net.connect(${stack.agent_port}, "127.0.0.1");
socket.on("connect", () => socket.write("GET /early HTTP/1.1\\r\\nhost: 127.0.0.1\\r\\n\\r\\n"));
let received = "";
socket.on("data", (part) => { received += part; });

export async function connected() {
  while (received === "") await pause(5);
  return { status: received.split("\\r\\n")[0] };
}

let ticks = 0;
const clock = setInterval((step) => { ticks += step; }, 20, 1);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function ticking() {
  for (const before = ticks; ticks < before + 2; ) await pause(5);
  return { ticked: true };
}

export async function stopped() {
  clearInterval(clock);
  const before = ticks;
  await pause(100);
  return { later: ticks - before };
}

export async function* question({ way, name, url }) {
  yield { begun: name };
  const answer = await ways[way](async () => (await fetch(url + "/" + name)).text());
  yield { answer };
}
`;

/** Requests whose answers are due, by their names. */
const waiting = new Map<string, ServerResponse>();

let id: string;
let server: Server;
beforeAll(async () => {
  server = createServer((request, response) => {
    const name = decodeURIComponent(request.url?.slice(1) ?? "");
    if (name === "early") response.end("hello");
    else waiting.set(name, response);
  });
  await once(server.listen(stack.agent_port, "127.0.0.1"), "listening");
  const files = {
    "langgraph.json": JSON.stringify({
      graphs: {
        question: "./agent.ts:question",
        connected: "./agent.ts:connected",
        ticking: "./agent.ts:ticking",
        stopped: "./agent.ts:stopped",
      },
    }),
    "package.json": JSON.stringify({
      dependencies: { "p-limit": "7.3.3", "@langchain/core": "1.4.0" },
    }),
    "agent.ts": AGENT,
  };
  ({ id } = await deploy("shared-work", files));
  await killAgents();
});
afterAll(() => {
  server?.closeAllConnections();
  server?.close();
});

const run = (graph: string) => client(id).runs.wait(null, graph, { input: {} });

test("a socket that a module connects while it loads opens in the first run", async () => {
  expect(await run("connected")).toMatchObject({ status: "HTTP/1.1 200 OK" });
});

/** Longer than a call whose work is over lives without others. */
const LATE_MS = 6000;

/** Resolves when the run is about to do its work. */
async function begin(way: string, name: string) {
  const { threads, runs } = client(id);
  const { thread_id } = await threads.create();
  const input = { way, name, url: `http://127.0.0.1:${stack.agent_port}` };
  const { run_id } = await runs.create(thread_id, "question", { input, streamMode: "values" });
  for await (const { data } of runs.joinStream(thread_id, run_id)) {
    if ((data as { begun?: string }).begun === name) break;
  }
  return {
    end: () => runs.join(thread_id, run_id),
    cancel: () => runs.cancel(thread_id, run_id, true),
  };
}

const requested = (name: string) =>
  until(
    `The request of ${name}`,
    async () => waiting.has(name),
    (isThere) => isThere,
  );

async function answerLate(name: string) {
  await new Promise((resolve) => setTimeout(resolve, LATE_MS));
  waiting.get(name)?.end(`answer to ${name}`);
}

test.each(["limit", "caller"])(
  "a queue starts work of a run in another, whose end it outlives: %s",
  async (way) => {
    const [first, second] = [`first of ${way}`, `second of ${way}`];
    const one = await begin(way, first);
    await requested(first);
    const two = await begin(way, second);
    waiting.get(first)?.end("done");
    expect(await one.end()).toMatchObject({ answer: "done" });
    await requested(second);
    await answerLate(second);
    expect(await two.end()).toMatchObject({ answer: `answer to ${second}` });
  },
);

test("a value that loads once serves the other runs when its own is cancelled", async () => {
  const one = await begin("once", "value");
  await requested("value");
  const two = await begin("once", "other");
  await one.cancel();
  await answerLate("value");
  expect(await two.end()).toMatchObject({ answer: "answer to value" });
});

test("an interval of a module fires in run after run, until it is cleared", async () => {
  expect([await run("ticking"), await run("ticking")]).toMatchObject([
    { ticked: true },
    { ticked: true },
  ]);
  expect(await run("stopped")).toMatchObject({ later: 0 });
});
