import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeAll, expect, inject, test } from "vitest";
import { deliver } from "../../../src/agent-server/threads/object/trace-delivery.ts";
import { consumeWebhook } from "../../../src/agent-server/webhooks/consumer.ts";
import { run_webhooks } from "../../../src/agent-server/webhooks/table.ts";
import { enqueueTraceExports } from "../../../src/agent-server/webhooks/trace-export.ts";
import { database } from "../../../src/shared/context.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { eventually } from "../../support/eventually.ts";
import type { Received } from "../../support/node/receiver.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});

/** A deployment whose variables export to a receiver with this answer. */
async function exporting(how: string, variables: Record<string, string> = {}) {
  const name = crypto.randomUUID();
  const url = inject("receiver_url");
  const { deployment_id } = await testDeployment(
    ours.workspace_id,
    {},
    {
      config_env: {
        LANGSMITH_OTEL_ENABLED: "true",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/${how}/${name}`,
        OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20secret",
        ...variables,
      },
    },
  );
  const received = async (): Promise<Received[]> => (await fetch(`${url}/${name}`)).json();
  return { deployment_id, received };
}

async function run(deployment_id: string): Promise<string> {
  const json = { assistant_id: "steps", input: {} };
  const call = (path: string, body: unknown) =>
    api(`/agents/${deployment_id}${path}`, { key: ours.editor, json: body });
  const { thread_id } = await (await call("/threads", {})).json<{ thread_id: string }>();
  const made = await call(`/threads/${thread_id}/runs`, json);
  return (await made.json<{ run_id: string }>()).run_id;
}

function rowsOf(trace_id: string) {
  return database(env).select().from(run_webhooks).where(eq(run_webhooks.trace_id, trace_id));
}

/** Makes the next attempt, as its message would later. */
async function attempt(trace_id: string) {
  const row = await eventually(async () => {
    const rows = await rowsOf(trace_id);
    expect(rows).toHaveLength(1);
    return rows[0] as (typeof rows)[number];
  });
  const due = { due_at: new Date(0).toISOString(), lease_expires_at: null };
  await database(env).update(run_webhooks).set(due).where(eq(run_webhooks.run_id, row.run_id));
  await consumeWebhook(env, { type: "run_webhook", run_webhook_id: row.run_id });
  const [after] = await rowsOf(trace_id);
  return { status: after?.status, error: after?.attempts.at(-1)?.error };
}

test("a trace is sent once its root has ended, with the headers of the variables, and is listed among no webhooks", async () => {
  const { deployment_id, received } = await exporting("ok");
  const trace_id = await run(deployment_id);
  expect(await attempt(trace_id)).toEqual({ status: "delivered", error: null });
  const [sent, ...others] = await received();
  expect(others).toEqual([]);
  expect(sent?.headers).toMatchObject({
    ...{ "content-type": "application/x-protobuf", authorization: "Bearer secret" },
  });
  expect(sent?.body).toContain("invoke_agent");
  const listed = async (query: string) =>
    (await api(`/v1/run-webhooks/deliveries?${query}`, { key: ours.viewer })).json();
  expect(await listed("")).toMatchObject({ resources: [] });
  expect(await listed("kind=trace&status=delivered")).toMatchObject({
    resources: [
      {
        ...{ run_id: trace_id, deployment_id, url: expect.stringContaining("/ok/") },
        attempts: [{ status: 204, error: null }],
      },
    ],
    next_cursor: null,
  });
});

test("a trace that is refused is sent again, and its row waits for that", async () => {
  const { deployment_id, received } = await exporting("fails-once");
  const trace_id = await run(deployment_id);
  expect(await attempt(trace_id)).toMatchObject({
    status: "pending",
    error: expect.stringContaining("503"),
  });
  expect(await attempt(trace_id)).toEqual({ status: "delivered", error: null });
  expect(await received()).toHaveLength(2);
});

test("variables that name no receiver end the export with the variable's name", async () => {
  const { deployment_id } = await exporting("ok", { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" });
  const trace_id = await run(deployment_id);
  expect(await attempt(trace_id)).toEqual({
    status: "failed",
    error: "OTEL_EXPORTER_OTLP_PROTOCOL: must be http/protobuf, not grpc",
  });
});

test("a trace is exported once, and not at all without the switch", async () => {
  const [on, off] = [await exporting("ok"), await exporting("ok", { LANGSMITH_OTEL_ENABLED: "" })];
  const enqueue = async ({ deployment_id }: { deployment_id: string }, trace_id: string) => {
    const owner = { workspace_id: ours.workspace_id, deployment_id };
    await enqueueTraceExports(env, owner, [{ trace_id, thread_id: newId() }]);
    return (await rowsOf(trace_id)).length;
  };
  const [one, other] = [newId(), newId()];
  expect([await enqueue(on, one), await enqueue(on, one), await enqueue(off, other)]).toEqual([
    1, 1, 0,
  ]);
  await enqueue(on, newId());
  const page = async (cursor: string) => {
    const query = `kind=trace&limit=1&status=pending${cursor}`;
    const answer = await api(`/v1/run-webhooks/deliveries?${query}`, { key: ours.viewer });
    return answer.json<{ resources: { run_id: string }[]; next_cursor: string }>();
  };
  const first = await page("");
  expect(first.resources[0]?.run_id).toBe(first.next_cursor);
  expect((await page(`&cursor=${first.next_cursor}`)).resources).toMatchObject([{ run_id: one }]);
});

test("traces that threads deliver together are exported for their own threads", async () => {
  const { deployment_id } = await exporting("ok");
  const { workspace_id } = ours;
  const delivered = Array.from({ length: 2 }, async () => {
    const [thread_id, trace_id] = [newId(), newId()];
    const time = new Date().toISOString();
    const run = { id: trace_id, trace_id, name: "run", run_type: "chain", start_time: time };
    const dotted_order = `${time.replace(/[-:.]/g, "").replace("Z", "000Z")}${trace_id}`;
    const data = JSON.stringify({ ...run, dotted_order, end_time: time });
    const place = { workspace_id, deployment_id, thread_id };
    const thread = { ...place, temporary: false, ended_at: null, revision: null };
    await deliver(env, thread, [{ kind: "post", data, texts: {} }]);
    return { thread_id, exported: (await rowsOf(trace_id)).map((row) => row.thread_id) };
  });
  for (const { thread_id, exported } of await Promise.all(delivered))
    expect(exported).toEqual([thread_id]);
});
