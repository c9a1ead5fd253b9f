// Strangers that send half of their requests cost the Worker nothing, and harm no tenant.
import { readFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HALF_REQUESTS } from "../../scripts/soak/strangers/half-requests.ts";
import { deploy } from "./support/deployments.ts";
import { type Bystander, servedUntil } from "./support/neighbours.ts";
import { stack, until, workerPid } from "./support/stack.ts";

const AGENT = {
  "langgraph.json": JSON.stringify({ graphs: { agent: "./agent.ts:agent" } }),
  "agent.ts": "export async function agent() { return { messages: [] }; }\n",
};
const MEGABYTE = 1024 * 1024;
const CONNECTIONS = 750;

const sockets: Socket[] = [];
let bystander: Bystander;

beforeAll(async () => {
  const { id: deployment_id } = await deploy("bystander", AGENT);
  bystander = { deployment_id, assistant_id: "agent", headers: {} };
});

afterAll(() => {
  for (const socket of sockets) socket.destroy();
});

/** Opens a connection, sends bytes and keeps it open. Resolves when they are sent. */
function sendHalf(bytes: string): Promise<void> {
  const { hostname, port } = new URL(stack.base_url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  socket.resume();
  socket.on("error", () => socket.destroy());
  return new Promise((resolve) => {
    socket.once("close", resolve);
    socket.write(bytes, () => resolve());
  });
}

async function residentBytes(pid: number): Promise<number> {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) * 1024;
}

test.each(HALF_REQUESTS)("connections that send %s harm no tenant", async (_case, bytes) => {
  const worker = await workerPid();
  const before = await residentBytes(worker);
  await Promise.all(Array.from({ length: CONNECTIONS }, () => sendHalf(bytes)));
  let rounds = 0;
  await servedUntil(bystander, () => ++rounds >= 5);
  expect(await workerPid()).toBe(worker);
  expect((await residentBytes(worker)) - before).toBeLessThan(200 * MEGABYTE);
  await until(
    "The end of the connections",
    async () => sockets.filter(({ destroyed }) => !destroyed).length,
    (open) => open === 0,
  );
});
