// The modules of an agent may do everything that a run may do, while they load.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { client } from "./support/clients.ts";
import { deploy } from "./support/deployments.ts";
import { killAgents, stack } from "./support/stack.ts";

const VALUES = `
import { randomBytes } from "node:crypto";
const [id, bytes, now] = [crypto.randomUUID(), randomBytes(4).toString("hex"), Date.now()];
export async function graph() { return { id, bytes, now }; }
`;

const AWAITS = `
const text = await (await fetch("URL/text")).text();
await new Promise((resolve) => setTimeout(resolve, 20));
export async function graph() { return { text }; }
`;

const FAILS_ONCE = `
const { status } = await fetch("URL/flaky");
if (status !== 200) throw new Error("The tools could not be listed");
export async function graph() { return { status }; }
`;

/** Statuses of the next answers to /flaky. */
const flaky: number[] = [];

let id: string;
let server: Server;
beforeAll(async () => {
  server = createServer((request, response) => {
    response.statusCode = request.url === "/flaky" ? (flaky.shift() ?? 200) : 200;
    response.end("hello");
  });
  await once(server.listen(stack.agent_port, "127.0.0.1"), "listening");
  const graphs = {
    values: "./values.ts:graph",
    awaits: "./awaits.ts:graph",
    fails: "./fails.ts:graph",
  };
  const url = `http://127.0.0.1:${stack.agent_port}`;
  ({ id } = await deploy("module-loads", {
    "langgraph.json": JSON.stringify({ graphs }),
    "package.json": "{}",
    "values.ts": VALUES,
    "awaits.ts": AWAITS.replace("URL", url),
    "fails.ts": FAILS_ONCE.replace("URL", url),
  }));
});
afterAll(() => {
  server?.closeAllConnections();
  server?.close();
});

const run = (graph: string) => client(id).runs.wait(null, graph, { input: {} });

test("a module has random values and the time while it loads", async () => {
  const first = await run("values");
  expect(first).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    bytes: expect.stringMatching(/^[0-9a-f]{8}$/),
    now: expect.any(Number),
  });
  const { now } = first as unknown as { now: number };
  expect(new Date(now).getUTCFullYear()).toBeGreaterThan(2025);
  expect(await run("values")).toEqual(first);
});

test("a module awaits a request and a timer while it loads", async () => {
  expect(await run("awaits")).toEqual({ text: "hello" });
});

test("a run of a module that did not load is repeated in another isolate", async () => {
  await killAgents();
  // Begins the process that has not loaded the module.
  await run("values");
  flaky.push(503);
  expect(await run("fails")).toEqual({ status: 200 });
  expect(flaky).toEqual([]);
});
