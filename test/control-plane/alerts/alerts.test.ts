import { env } from "cloudflare:workers";
import { expect, inject, test, vi } from "vitest";
import { consumeWebhook } from "../../../src/agent-server/webhooks/consumer.ts";
import type { Alert, AlertCreateRequest } from "../../../src/control-plane/alerts/alert-schema.ts";
import { evaluateAlerts } from "../../../src/control-plane/alerts/sweep.ts";
import { eventually } from "../../support/eventually.ts";
import type { Received } from "../../support/node/receiver.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";
import { batch, post, projectId, wireRun } from "../../traces/support/runs.ts";

vi.setConfig({ testTimeout: 120_000 });

const MINUTE_MS = 60_000;

/** Ticks of the cron after now. Alerts of an earlier tick are due again. */
const tick = (minutes: number) =>
  evaluateAlerts(env, new Date(Date.now() + 1000 + minutes * MINUTE_MS));

function receiver() {
  const name = crypto.randomUUID();
  const webhook = `${inject("receiver_url")}/ok/${name}`;
  // The queue has messages of other tests, and delivers one after the other.
  const received = async (): Promise<Received[]> => {
    const pending = "SELECT run_id FROM run_webhooks WHERE url = ? AND status = 'pending'";
    const { results } = await env.DB.prepare(pending).bind(webhook).all<{ run_id: string }>();
    for (const { run_id } of results)
      await consumeWebhook(env, { type: "run_webhook", run_webhook_id: run_id });
    return (await fetch(`${inject("receiver_url")}/${name}`)).json();
  };
  return { webhook, received };
}

type Project = TestWorkspace & { session_id: string };

/** Ingests a failed and a successful trace of 4 and 2 seconds, with a child of a second in the failed one. */
async function project(): Promise<Project> {
  const ours = await workspace();
  const at = Date.now() - 10_000;
  const ended = (seconds: number) => new Date(at + seconds * 1000).toISOString();
  const failed = wireRun("watched", { end_time: ended(4), error: "boom" }, { at });
  const good = wireRun("watched", { end_time: ended(2), name: "good" }, { at });
  const child = wireRun("watched", { end_time: ended(1), name: "child" }, { at, parent: failed });
  expect((await batch(ours.editor, [failed, good, child])).status).toBe(202);
  for (const [{ id }, score] of [
    [failed, 0],
    [good, 0.5],
  ] as const) {
    await post(ours.editor, "/feedback", { run_id: id, key: "helpful", score });
  }
  return { ...ours, session_id: (await projectId(ours.viewer, "watched")) ?? "" };
}

type Fields = Partial<AlertCreateRequest>;

function send({ editor, session_id }: Project, fields: Fields): Promise<Response> {
  const standard = { name: "errors", metric: "error_rate", session_id, window_minutes: 60 };
  const rule = { operator: "gte", threshold: 0.5, webhook: receiver().webhook };
  return post(editor, "/v1/alerts", { ...standard, ...rule, ...fields });
}

async function create(ours: Project, fields: Fields = {}): Promise<Alert> {
  const response = await send(ours, fields);
  if (response.status !== 201) throw new Error(await response.text());
  return response.json<Alert>();
}

async function get({ viewer }: TestWorkspace, { id }: Pick<Alert, "id">): Promise<Alert> {
  return (await api(`/v1/alerts/${id}`, { key: viewer })).json<Alert>();
}

function change({ editor }: TestWorkspace, { id }: Pick<Alert, "id">, json: Fields) {
  return api(`/v1/alerts/${id}`, { key: editor, method: "PATCH", json });
}

const typesOf = (received: Received[]) =>
  received.map(({ body }) => (JSON.parse(body) as { type: string }).type);

test("an episode sends one signed webhook when it begins, and one when it ends", async () => {
  const ours = await project();
  await api("/v1/run-webhooks/secret", { key: ours.admin, method: "PUT", json: {} });
  const { webhook, received } = receiver();
  const alert = await create(ours, { webhook });
  expect(alert).toMatchObject({ status: "ok", value: null, episode: 0, evaluated_at: null });
  await Promise.all([tick(0), tick(0), tick(0), tick(0)]);
  expect(await get(ours, alert)).toMatchObject({
    ...{ status: "firing", value: 0.5, episode: 1, problem: null },
    started_at: expect.any(String),
  });
  await tick(2);
  await Promise.all([tick(4), tick(4)]);
  await eventually(async () => expect(await received()).toHaveLength(1), { interval: 200 });
  await Promise.all([tick(120), tick(120)]);
  expect(await get(ours, alert)).toMatchObject({ status: "ok", value: null, started_at: null });
  await tick(125);
  await eventually(async () => expect(await received()).toHaveLength(2), { interval: 200 });
  const [start, end] = await received();
  expect(JSON.parse(start?.body ?? "")).toMatchObject({
    ...{ type: "alert.started", alert_id: alert.id, name: "errors", metric: "error_rate" },
    ...{ session_id: ours.session_id, operator: "gte", threshold: 0.5, value: 0.5, episode: 1 },
    ...{ workspace_id: ours.workspace_id, ended_at: null, webhook_sent_at: expect.any(String) },
  });
  expect(JSON.parse(end?.body ?? "")).toMatchObject({
    ...{ type: "alert.ended", value: null, episode: 1, started_at: expect.any(String) },
    ended_at: expect.any(String),
  });
  expect(start?.headers["webhook-signature"]).toMatch(/^v1,/);
  expect(start?.headers["webhook-id"]).not.toBe(end?.headers["webhook-id"]);
  const listed = await api(`/v1/alerts/${alert.id}/deliveries`, { key: ours.viewer });
  expect(await listed.json()).toMatchObject({
    deliveries: [
      { id: end?.headers["webhook-id"], status: "delivered", url: webhook },
      { id: start?.headers["webhook-id"], attempts: [{ status: 204 }] },
    ],
  });
  const runs = await api("/v1/run-webhooks/deliveries", { key: ours.viewer });
  expect(await runs.json()).toMatchObject({ resources: [] });
});

test("each metric has its value, of the runs of the filter only", async () => {
  const ours = await project();
  const quota = { meter: "runs_created", period: "day", limit: 4 };
  await api("/v1/quotas", { key: ours.admin, method: "PUT", json: { quotas: [quota] } });
  const cases: [Fields, number | null][] = [
    [{ metric: "run_count" }, 2],
    [{ metric: "run_count", is_root: false }, 3],
    [{ metric: "run_count", is_root: false, filter: 'eq(name, "child")' }, 1],
    [{ metric: "error_rate", filter: 'eq(name, "good")' }, 0],
    [{ metric: "error_rate", filter: 'eq(name, "missing")' }, null],
    [{ metric: "latency_p95", filter: 'eq(name, "good")' }, 2],
    [{ metric: "feedback_score", feedback_key: "helpful" }, 0.25],
    [{ metric: "feedback_score", feedback_key: "other" }, null],
    [{ metric: "quota_used", session_id: null }, 0],
  ];
  const made = await Promise.all(cases.map(([fields]) => create(ours, fields)));
  await tick(0);
  const values = await Promise.all(made.map(async (alert) => (await get(ours, alert)).value));
  expect(values.map((value) => value && Number(value.toFixed(2)))).toEqual(
    cases.map(([, value]) => value),
  );
  const listed = await api("/v1/alerts", { key: ours.viewer });
  const { alerts } = await listed.json<{ alerts: Alert[] }>();
  expect(alerts.map(({ id }) => id)).toEqual(made.map(({ id }) => id).sort());
});

test("a webhook that a tick could not enqueue is sent once by the next tick", async () => {
  const ours = await project();
  const { webhook, received } = receiver();
  const alert = await create(ours, { webhook });
  const ARTIFACTS = {
    put() {
      throw new Error("R2 is down");
    },
  } as unknown as R2Bucket;
  await evaluateAlerts({ ...env, ARTIFACTS }, new Date(Date.now() + 1000));
  expect(await get(ours, alert)).toMatchObject({ status: "firing" });
  await tick(1);
  await eventually(async () => expect(typesOf(await received())).toEqual(["alert.started"]), {
    interval: 200,
  });
  await tick(120);
  await eventually(
    async () => {
      expect(typesOf(await received()).sort()).toEqual(["alert.ended", "alert.started"]);
    },
    { interval: 200 },
  );
});

test("a failure of the traces leaves the status, and the alert is due a minute later", async () => {
  const ours = await project();
  const alert = await create(ours, { window_minutes: 120 });
  await tick(0);
  const PARTITIONS = {
    getByName() {
      throw new Error("The partition is down");
    },
  } as unknown as Env["PARTITIONS"];
  await evaluateAlerts({ ...env, PARTITIONS }, new Date(Date.now() + 5 * MINUTE_MS));
  const failed = await get(ours, alert);
  expect(failed).toMatchObject({ status: "firing", value: 0.5 });
  await tick(6);
  expect((await get(ours, alert)).evaluated_at).not.toBe(failed.evaluated_at);
  await tick(240);
  expect(await get(ours, alert)).toMatchObject({ status: "ok" });
});

test("disabling an alert ends its episode, and deleting its project names the problem", async () => {
  const ours = await project();
  const { webhook, received } = receiver();
  const [disabled, orphan] = [await create(ours, { webhook }), await create(ours)];
  await tick(0);
  expect((await change(ours, disabled, { enabled: false })).status).toBe(200);
  await api(`/sessions/${ours.session_id}`, { key: ours.admin, method: "DELETE" });
  await tick(2);
  expect(await get(ours, disabled)).toMatchObject({ status: "ok", enabled: false });
  const { problem, status } = await get(ours, orphan);
  expect([status, problem]).toEqual(["ok", expect.stringContaining(ours.session_id)]);
  expect((await change(ours, orphan, { enabled: false })).status).toBe(200);
  const { session_id } = ours;
  expect((await change(ours, orphan, { session_id })).status).toBe(404);
  await tick(4);
  await eventually(
    async () => {
      expect(typesOf(await received()).sort()).toEqual(["alert.ended", "alert.started"]);
    },
    { interval: 200 },
  );
  const { evaluated_at } = await get(ours, disabled);
  await tick(10);
  expect((await get(ours, disabled)).evaluated_at).toBe(evaluated_at);
});

/** A database that runs `work` before it stores the evaluation of `alert`. */
function beforeSettling(alert: Alert, work: () => Promise<void>): D1Database {
  return {
    prepare(sql: string) {
      const statement = env.DB.prepare(sql);
      if (!/^update "alerts" set .*"evaluated_at"/.test(sql)) return statement;
      return {
        bind: (...values: unknown[]) => ({
          async raw() {
            if (values.includes(alert.id)) await work();
            return statement.bind(...values).raw();
          },
        }),
      };
    },
  } as unknown as D1Database;
}

test("a change of the alert while it is evaluated wins", async () => {
  const ours = await project();
  const alert = await create(ours);
  let writes = 0;
  const DB = beforeSettling(alert, async () => {
    writes += 1;
    await change(ours, alert, { threshold: 0.9 });
  });
  await evaluateAlerts({ ...env, DB }, new Date(Date.now() + 1000));
  expect(writes).toBe(1);
  expect(await get(ours, alert)).toMatchObject({ status: "ok", evaluated_at: null });
  await tick(0);
  expect(await get(ours, alert)).toMatchObject({ status: "ok", value: 0.5, threshold: 0.9 });
});

test("invalid alerts are refused, and nothing changes", async () => {
  const [ours, theirs] = [await project(), await project()];
  const alert = await create(ours);
  const refusals: [Fields, number, string][] = [
    [{ metric: "cost" as never }, 422, "metric"],
    [{ window_minutes: 0 }, 422, "window_minutes"],
    [{ window_minutes: 1441 }, 422, "window_minutes"],
    [{ operator: "eq" as never }, 422, "operator"],
    [{ filter: "eq(name" }, 422, "filter"],
    [{ webhook: "ftp://example.com" }, 422, "webhook"],
    [{ session_id: null }, 422, "session_id"],
    [{ metric: "feedback_score" }, 422, "feedback_key"],
    [{ feedback_key: "helpful" }, 422, "feedback_key"],
    [{ metric: "quota_used" }, 422, "session_id"],
    [{ metric: "quota_used", session_id: null, filter: 'eq(name, "a")' }, 422, "filter"],
    [{ session_id: theirs.session_id }, 404, theirs.session_id],
  ];
  for (const [fields, status, text] of refusals) {
    for (const response of [await send(ours, fields), await change(ours, alert, fields)]) {
      expect([response.status, await response.text()]).toEqual([
        status,
        expect.stringContaining(text),
      ]);
    }
  }
  const mine = await get(ours, alert);
  expect(mine).toEqual(alert);
  expect((await send({ ...ours, editor: ours.viewer }, {})).status).toBe(403);
});

test("an older measurement does not replace a newer one", async () => {
  const ours = await project();
  const alert = await create(ours);
  let isOverlapping = false;
  const DB = beforeSettling(alert, async () => {
    isOverlapping = true;
    await tick(120);
  });
  await evaluateAlerts({ ...env, DB }, new Date(Date.now() + 1000));
  expect(isOverlapping).toBe(true);
  expect(await get(ours, alert)).toMatchObject({ status: "ok", value: null, episode: 0 });
});

test("fifty alerts of a workspace are allowed", async () => {
  const ours = await project();
  const made = [];
  for (let n = 0; n < 45; n++) made.push(await create(ours, { enabled: false }));
  const last = await Promise.all(Array.from({ length: 8 }, () => send(ours, { enabled: false })));
  const statuses = last.map(({ status }) => status).sort();
  expect(statuses).toEqual([201, 201, 201, 201, 201, 409, 409, 409]);
  const refused = await send(ours, {});
  expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining("50")]);
  const path = `/v1/alerts/${made[0]?.id}`;
  expect((await api(path, { key: ours.editor, method: "DELETE" })).status).toBe(204);
  expect((await api(path, { key: ours.viewer })).status).toBe(404);
  expect((await send(ours, {})).status).toBe(201);
});
