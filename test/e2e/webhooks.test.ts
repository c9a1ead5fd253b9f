import { createHmac } from "node:crypto";
import { beforeAll, expect, inject, test } from "vitest";
import type { Received } from "../support/node/receiver.ts";
import { client } from "./support/clients.ts";
import { deploy } from "./support/deployments.ts";
import { aliveAgain, request } from "./support/http.ts";
import { killWorker, until } from "./support/stack.ts";
import { deployTestAgent } from "./support/test-agent.ts";

type Delivery = { status: string; attempts: { status: number | null; error: string | null }[] };

let deployment_id: string;
beforeAll(async () => {
  deployment_id = await deployTestAgent();
});

function hook(how: string) {
  const name = crypto.randomUUID();
  const base = inject("receiver_url");
  const received = async () => (await (await fetch(`${base}/${name}`)).json()) as Received[];
  return { webhook: `${base}/${how}/${name}`, received };
}

function delivered(run: { thread_id: string; run_id: string }) {
  const path = `/agents/${deployment_id}/threads/${run.thread_id}/runs/${run.run_id}/webhook`;
  return until(
    "The delivery",
    () => request<Delivery>("GET", path).catch(() => ({ status: 0, body: null })),
    ({ body }) => body?.status === "delivered",
  );
}

test("webhooks of runs that end while the Worker is killed are all delivered", async () => {
  const { threads, runs } = client(deployment_id);
  const hooks = Array.from({ length: 6 }, () => hook("ok"));
  const started = [];
  for (const [n, { webhook }] of hooks.entries()) {
    const { thread_id } = await threads.create();
    // They end one after the other, around the moment of the kill.
    const input = { delay_ms: 100 * n };
    started.push(await runs.create(thread_id, "steps", { input, webhook }));
  }
  await new Promise((resolve) => setTimeout(resolve, 500));
  await killWorker();
  await aliveAgain();
  for (const run of started) await delivered(run);
  for (const [n, { received }] of hooks.entries()) {
    const deliveries = await received();
    expect(deliveries.length).toBeGreaterThan(0);
    const ids = new Set(deliveries.map(({ headers }) => headers["webhook-id"]));
    expect(ids).toEqual(new Set([started[n]?.run_id]));
    expect(JSON.parse(deliveries[0]?.body ?? "")).toMatchObject({
      status: "success",
      values: { log: ["a", "b", "c"] },
    });
  }
});

test("an attempt that the Worker did not survive is made again, under the same id", async () => {
  const { threads, runs } = client(deployment_id);
  const { webhook, received } = hook("silent-once");
  const { thread_id } = await threads.create();
  const run = await runs.create(thread_id, "steps", { input: {}, webhook });
  await until("The first attempt", received, ({ length }) => length === 1);
  await killWorker();
  await aliveAgain();
  const { body } = await delivered(run);
  expect(body?.attempts.at(-1)).toMatchObject({ status: 200, error: null });
  expect((await received()).map(({ headers }) => headers["webhook-id"])).toEqual([
    run.run_id,
    run.run_id,
  ]);
});

test("a workspace's secret signs what is sent", async () => {
  const path = "/v1/run-webhooks/secret";
  const { body } = await request<{ secret: string }>("PUT", path, {});
  const { webhook, received } = hook("ok");
  const { runs } = client(deployment_id);
  await runs.wait(null, "steps", { input: {}, webhook });
  const [deliveries] = await until("The webhook", received, ({ length }) => length > 0);
  const key = Buffer.from(body.secret.slice("whsec_".length), "base64");
  const text = `${deliveries?.headers["webhook-id"]}.${deliveries?.headers["webhook-timestamp"]}.${deliveries?.body}`;
  const signature = createHmac("sha256", key).update(text).digest("base64");
  expect(deliveries?.headers["webhook-signature"]).toBe(`v1,${signature}`);
  expect((await request("DELETE", path)).status).toBe(204);
});

test("an agent's own headers and rules for webhooks hold for its runs", async () => {
  const { host, port } = new URL(inject("receiver_url"));
  const url = { allowed_domains: ["127.0.0.1"], allowed_ports: [Number(port)] };
  const headers = { Authorization: `Bearer \${{ env.LG_WEBHOOK_TOKEN }}` };
  const { id } = await deploy(
    "webhooks",
    {
      "langgraph.json": JSON.stringify({
        graphs: { agent: "./agent.js:agent" },
        webhooks: { url, headers },
      }),
      "agent.js": "export const agent = async () => ({ done: true });",
      "package.json": "{}",
    },
    { secrets: [{ name: "LG_WEBHOOK_TOKEN", value: "of-the-receiver" }] },
  );
  const { runs } = client(id);
  const { webhook, received } = hook("ok");
  await runs.wait(null, "agent", { input: {}, webhook });
  const [deliveries] = await until("The webhook", received, ({ length }) => length > 0);
  expect(deliveries?.headers.authorization).toBe("Bearer of-the-receiver");
  const elsewhere = webhook.replace(host, "receiver.example");
  await expect(runs.wait(null, "agent", { input: {}, webhook: elsewhere })).rejects.toThrow(
    /HTTP 422: .*leads to receiver\.example; webhooks\.url\.allowed_domains/,
  );
});
