// A server that does not respond delays the workspace that uses it, and no other one.
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import {
  type SilentServer,
  startSilentServer,
} from "../../scripts/soak/strangers/silent-server.ts";
import { MAX_ATTEMPTS_AT_ONCE } from "../../src/agent-server/webhooks/limits.ts";
import { startFaultProxy } from "../support/node/fault-proxy.ts";
import type { Received } from "../support/node/receiver.ts";
import { createBody, type Deployment, deploy, uniqueName } from "./support/deployments.ts";
import { createDestination, createExport, ended } from "./support/exports.ts";
import { request } from "./support/http.ts";
import type { Files } from "./support/repositories.ts";
import { until } from "./support/stack.ts";
import { seedRuns } from "./support/trace-runs.ts";
import { createWorkspace } from "./support/workspaces.ts";

const AGENT: Files = {
  "langgraph.json": JSON.stringify({ graphs: { agent: "./agent.ts:agent" } }),
  "agent.ts": "export async function* agent(input: unknown) { yield { heard: input }; }\n",
};
/** The limit of src/control-plane/deployments/rollout/build-claim-service.ts, which Node cannot load. */
const MAX_BUILDS_AT_ONCE = 2;
/** Below the number of exports that a workspace runs at once. */
const SLOW_EXPORTS = 10;
const DAY = { start_time: "2026-05-05T00:00:00Z", end_time: "2026-05-06T00:00:00Z" };

let slow: Record<string, string>;
beforeAll(async () => {
  slow = await createWorkspace();
});

const servers: SilentServer[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

async function silentServer(): Promise<SilentServer> {
  const server = await startSilentServer();
  servers.push(server);
  return server;
}

test("builds of other workspaces start while a git host does not respond", async () => {
  const host = await silentServer();
  const waiting: Deployment[] = [];
  for (let n = 0; n < 3 * MAX_BUILDS_AT_ONCE; n++) {
    const body = createBody(uniqueName("silent"), `${host.url}/owner/repository-${n}`);
    const created = await request<Deployment>("POST", "/v2/deployments", body, slow);
    expect(created.status).toBe(201);
    waiting.push(created.body);
  }
  await until(
    "The slots of the workspace",
    async () => host.open.size,
    (open) => open === MAX_BUILDS_AT_ONCE,
  );
  await deploy("beside-silent-host", AGENT);
  expect(host.most()).toBe(MAX_BUILDS_AT_ONCE);
  for (const { id } of waiting) await request("DELETE", `/v2/deployments/${id}`, undefined, slow);
});

test("webhooks of other workspaces are delivered while a receiver does not respond", async () => {
  const receiver = await silentServer();
  const slow_agent = (await deploy("silent-receiver", AGENT, { headers: slow })).id;
  const agent = (await deploy("beside-silent-receiver", AGENT)).id;
  for (let n = 0; n < 3 * MAX_ATTEMPTS_AT_ONCE; n++) {
    const run = { assistant_id: "agent", input: {}, webhook: `${receiver.url}/${n}` };
    const started = await request("POST", `/agents/${slow_agent}/runs`, run, slow);
    expect(started.status).toBe(200);
  }
  await until(
    "The slots of the workspace",
    async () => receiver.open.size,
    (open) => open === MAX_ATTEMPTS_AT_ONCE,
  );
  const name = crypto.randomUUID();
  const webhook = `${inject("receiver_url")}/ok/${name}`;
  const run = { assistant_id: "agent", input: {}, webhook };
  expect((await request("POST", `/agents/${agent}/runs/wait`, run)).status).toBe(200);
  await until(
    "The delivery",
    async () => (await (await fetch(`${inject("receiver_url")}/${name}`)).json()) as Received[],
    ({ length }) => length === 1,
  );
  expect(receiver.most()).toBe(MAX_ATTEMPTS_AT_ONCE);
});

test("exports of other workspaces complete while an S3 server does not respond", async () => {
  const silent = await startFaultProxy(inject("s3").endpoint);
  const range = { from: DAY.start_time, to: DAY.end_time, count: 5 };
  const prefix = uniqueName("silent");
  const slow_destination = await createDestination(prefix, { endpoint: silent.url, headers: slow });
  const slow_project = await seedRuns({ ...range, headers: slow });
  silent.fail({ hang: true, times: Number.POSITIVE_INFINITY });
  const requests = silent.seen.length;
  const order = { ...DAY, session_id: slow_project, bulk_export_destination_id: slow_destination };
  for (let n = 0; n < SLOW_EXPORTS; n++) await createExport(order, slow);
  await until(
    "A request of each export",
    async () => silent.seen.length - requests,
    (hanging) => hanging >= SLOW_EXPORTS,
  );
  const bulk_export_destination_id = await createDestination(uniqueName("beside-silent"));
  const session_id = await seedRuns(range);
  const { id } = await createExport({ ...DAY, session_id, bulk_export_destination_id });
  expect(await ended(id)).toMatchObject({ status: "COMPLETED" });
  await silent.close();
});
