import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { createHmac } from "node:crypto";
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, inject, test, vi } from "vitest";
import type { ThreadObject } from "../../../src/agent-server/threads/object/object.ts";
import { consumeWebhook } from "../../../src/agent-server/webhooks/consumer.ts";
import {
  claimNextWebhook,
  claimWebhook,
  settleAttempt,
  type WebhookRow,
} from "../../../src/agent-server/webhooks/lease.ts";
import {
  LEASE_MS,
  MAX_ATTEMPTS_AT_ONCE,
  PAUSES_SECONDS,
} from "../../../src/agent-server/webhooks/limits.ts";
import { toDelivery } from "../../../src/agent-server/webhooks/list-service.ts";
import { DELIVERED } from "../../../src/agent-server/webhooks/pauses.ts";
import { sendAdmitted } from "../../../src/agent-server/webhooks/payload-admission.ts";
import { signingSecrets } from "../../../src/agent-server/webhooks/secret-service.ts";
import {
  deleteWebhooksOf,
  sweepDeliveryLogs,
  sweepWebhooks,
} from "../../../src/agent-server/webhooks/sweep.ts";
import { run_webhooks } from "../../../src/agent-server/webhooks/table.ts";
import { forgetActive } from "../../../src/control-plane/deployments/active.ts";
import { writeSecrets } from "../../../src/control-plane/deployments/secrets.ts";
import { revisions } from "../../../src/control-plane/deployments/table.ts";
import { database } from "../../../src/shared/context.ts";
import { AppError } from "../../../src/shared/errors.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { ISOLATE_BUDGET } from "../../../src/shared/work/memory-budget.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { systemContext } from "../../support/deployment.ts";
import { eventually } from "../../support/eventually.ts";
import type { Received } from "../../support/node/receiver.ts";
import { createLazyTables } from "../../support/thread-tables.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Run = { run_id: string; thread_id: string };
type Delivery = {
  status: string;
  attempts: {
    at: string;
    status: number | null;
    error: string | null;
    duration_ms: number | null;
  }[];
  next_attempt_at: string | null;
  finished_at: string | null;
};

const hi = { messages: [{ role: "user", content: "hi" }] };
const DAY_MS = 24 * 3_600_000;

let ours: TestWorkspace;
let deployment_id: string;
let agent: string;

beforeAll(async () => {
  ours = await workspace();
  ({ deployment_id } = await testDeployment(ours.workspace_id));
  agent = `/agents/${deployment_id}`;
});

const post = (path: string, json: unknown) => api(`${agent}${path}`, { key: ours.editor, json });

async function newThread(): Promise<string> {
  return (await (await post("/threads", {})).json<{ thread_id: string }>()).thread_id;
}

/** The receiver's URL for this answer, with a unique name. */
function hook(how: string) {
  const name = crypto.randomUUID();
  const url = `${inject("receiver_url")}/${how}/${name}`;
  const received = async (): Promise<Received[]> =>
    (await fetch(`${inject("receiver_url")}/${name}`)).json();
  return { url, received };
}

/** Waits for the end of the run. */
async function run(body: object, thread_id?: string): Promise<Run> {
  const id = thread_id ?? (await newThread());
  const response = await post(`/threads/${id}/runs`, { assistant_id: "echo", input: hi, ...body });
  const accepted = await response.json<Run>();
  await (
    await api(`${agent}/threads/${id}/runs/${accepted.run_id}/join`, { key: ours.viewer })
  ).text();
  return accepted;
}

async function logOf({ thread_id, run_id }: Run, key = ours.viewer) {
  const response = await api(`${agent}/threads/${thread_id}/runs/${run_id}/webhook`, { key });
  return response.status === 200 ? response.json<Delivery>() : null;
}

function until(accepted: Run, status: string, attempts = 1): Promise<Delivery> {
  return eventually(async () => {
    const delivery = await logOf(accepted);
    expect([delivery?.status, delivery?.attempts.length]).toEqual([status, attempts]);
    expect(delivery?.attempts.at(-1)?.duration_ms).not.toBeNull();
    return delivery as Delivery;
  });
}

function redeliver({ thread_id, run_id }: Run, key = ours.editor) {
  const path = `${agent}/threads/${thread_id}/runs/${run_id}/webhook`;
  return api(path, { key, method: "POST" });
}

/** Makes the next attempt due, and makes it, as its message would later. */
async function attemptNow({ run_id }: Run) {
  await env.DB.prepare(
    "UPDATE run_webhooks SET due_at = ?, lease_expires_at = NULL WHERE run_id = ?",
  )
    .bind(new Date(0).toISOString(), run_id)
    .run();
  await consumeWebhook(env, { type: "run_webhook", run_webhook_id: run_id });
}

describe("the deliveries of a workspace", () => {
  const listed = async (query = "", key = ours.viewer) => {
    const response = await api(`/v1/run-webhooks/deliveries?${query}`, { key });
    return response.json<{ resources: Run[]; next_cursor: string | null }>();
  };

  test("are listed page by page, the newest run first, and by status", async () => {
    const first = await run({ webhook: hook("ok").url });
    const failed = await run({ webhook: hook("gone").url });
    const last = await run({ webhook: hook("ok").url });
    await until(first, "delivered");
    await until(failed, "failed");
    await until(last, "delivered");
    const all = await listed("limit=3");
    expect(all.resources.map(({ run_id }) => run_id)).toEqual([
      last.run_id,
      failed.run_id,
      first.run_id,
    ]);
    expect(all.resources[1]).toEqual({ ...(await logOf(failed)), deployment_id });
    const one = await listed("limit=1");
    expect(one.next_cursor).toBe(last.run_id);
    const next = await listed(`limit=2&cursor=${one.next_cursor}`);
    expect(next.resources).toEqual(all.resources.slice(1));
    expect((await listed("status=failed&limit=1")).resources).toEqual([all.resources[1]]);
  });

  test("are not those of another workspace", async () => {
    await until(await run({ webhook: hook("ok").url }), "delivered");
    const theirs = await workspace();
    expect(await listed("", theirs.admin)).toEqual({ resources: [], next_cursor: null });
  });
});

describe("a run with a webhook", () => {
  test("delivers its outcome once", async () => {
    const { url, received } = hook("ok");
    const accepted = await run({ webhook: url, metadata: { order: 7 } });
    const delivery = await until(accepted, "delivered");
    expect(delivery).toMatchObject({
      attempts: [{ status: 204, error: null }],
      next_attempt_at: null,
    });
    const [only, ...more] = await received();
    expect(more).toEqual([]);
    const payload = JSON.parse(only?.body ?? "");
    expect(payload).toMatchObject({
      ...accepted,
      status: "success",
      updated_at: expect.any(String),
      metadata: { order: 7 },
      kwargs: { webhook: url },
      error: null,
      values: { messages: [{ content: "hi" }, { content: "echo: hi" }] },
    });
    const times = [payload.run_started_at, payload.run_ended_at, payload.webhook_sent_at];
    expect(times).toEqual([...times].sort());
    expect(times.every((time) => new Date(time).toISOString() === time)).toBe(true);
    expect(only?.headers).toMatchObject({
      "content-type": "application/json",
      "webhook-id": accepted.run_id,
      "idempotency-key": accepted.run_id,
      "webhook-timestamp": expect.stringMatching(/^\d{10}$/),
    });
    expect(
      await env.ARTIFACTS.head(`webhooks/${deployment_id}/${accepted.run_id}.json`),
    ).toBeNull();
  });

  test("delivers errors, interrupts and cancellations", async () => {
    const [failed, interrupted, cancelled] = [hook("ok"), hook("ok"), hook("ok")];
    await until(await run({ assistant_id: "fails", input: {}, webhook: failed.url }), "delivered");
    await until(
      await run({ assistant_id: "ask", input: {}, webhook: interrupted.url }),
      "delivered",
    );
    const thread_id = await newThread();
    const slow = { assistant_id: "steps", input: { delay_ms: 5_000 }, webhook: cancelled.url };
    const running = await (await post(`/threads/${thread_id}/runs`, slow)).json<Run>();
    const { run_id } = running;
    expect((await post(`/threads/${thread_id}/runs/${run_id}/cancel?wait=1`, {})).status).toBe(204);
    await until(running, "delivered");
    const payload = async ({ received }: typeof failed) =>
      JSON.parse((await received())[0]?.body ?? "");
    expect(await payload(failed)).toMatchObject({
      status: "error",
      error: { error: "RangeError", message: "the node broke" },
    });
    expect(await payload(interrupted)).toMatchObject({
      status: "success",
      error: null,
      values: { log: [] },
    });
    expect(await payload(cancelled)).toMatchObject({ status: "interrupted", values: null });
  });

  test("delivers nothing after a rollback", async () => {
    const { url } = hook("ok");
    const thread_id = await newThread();
    const slow = { assistant_id: "steps", input: { delay_ms: 5_000 }, webhook: url };
    const running = await (await post(`/threads/${thread_id}/runs`, slow)).json<Run>();
    await post(`/threads/${thread_id}/runs/${running.run_id}/cancel?wait=1&action=rollback`, {});
    const after = hook("ok");
    await until(await run({ webhook: after.url }, thread_id), "delivered");
    expect(await logOf(running)).toBeNull();
  });

  test("delivers for threadless runs and after the thread is deleted", async () => {
    const [threadless, deleted] = [hook("ok"), hook("ok")];
    const response = await post("/runs", {
      assistant_id: "echo",
      input: hi,
      webhook: threadless.url,
    });
    const accepted = await response.json<Run>();
    await until(accepted, "delivered");
    const [first] = await threadless.received();
    expect(JSON.parse(first?.body ?? "")).toMatchObject({ values: { messages: [{}, {}] } });
    const second = await run({ webhook: deleted.url });
    const remove = { key: ours.editor, method: "DELETE" };
    expect((await api(`${agent}/threads/${second.thread_id}`, remove)).status).toBe(204);
    await until(second, "delivered");
    expect(await deleted.received()).toHaveLength(1);
  });

  test("has its state in it, however large that is", async () => {
    const { url, received } = hook("ok");
    const content = "x".repeat(3_000_000);
    const accepted = await run({ webhook: url, input: { messages: [{ role: "user", content }] } });
    await until(accepted, "delivered");
    const [only] = await received();
    expect(JSON.parse(only?.body ?? "").values.messages[0].content).toBe(content);
  });
});

describe("a receiver", () => {
  test("that fails is retried with the same id", async () => {
    const { url, received } = hook("fails-once");
    const accepted = await run({ webhook: url });
    const first = await until(accepted, "pending");
    expect(first.attempts[0]).toMatchObject({ status: 503, error: expect.stringMatching(/503/) });
    const pause = Date.parse(first.next_attempt_at ?? "") - Date.parse(first.attempts[0]?.at ?? "");
    expect(pause).toBeGreaterThan(4_000);
    await attemptNow(accepted);
    const { attempts } = await until(accepted, "delivered", 2);
    expect(attempts.map(({ status }) => status)).toEqual([503, 200]);
    const ids = (await received()).map(({ headers }) => headers["webhook-id"]);
    expect(ids).toEqual([accepted.run_id, accepted.run_id]);
  });

  test("that always fails is given up after eleven attempts within a day", async () => {
    const { url } = hook("fails");
    const accepted = await run({ webhook: url });
    let waited = 0;
    for (let attempt = 1; attempt <= 10; attempt++) {
      const { next_attempt_at, attempts } = await until(accepted, "pending", attempt);
      waited += Date.parse(next_attempt_at ?? "") - Date.parse(attempts.at(-1)?.at ?? "");
      await attemptNow(accepted);
    }
    expect(await until(accepted, "failed", 11)).toMatchObject({ next_attempt_at: null });
    expect(waited).toBeGreaterThan(20 * 3_600_000);
    expect(waited).toBeLessThan(27 * 3_600_000);
    await attemptNow(accepted);
    await until(accepted, "failed", 11);
  });

  test("that sends Retry-After is not retried earlier", async () => {
    const accepted = await run({ webhook: hook("later").url });
    const { next_attempt_at } = await until(accepted, "pending");
    expect(Date.parse(next_attempt_at ?? "")).toBeGreaterThan(Date.now() + 3_500_000);
  });

  test("that responds 410 is not retried", async () => {
    expect(await until(await run({ webhook: hook("gone").url }), "failed")).toMatchObject({
      attempts: [{ status: 410 }],
    });
  });

  describe("that was given up", () => {
    const giveUp = ({ run_id }: Run) =>
      env.DB.prepare("UPDATE run_webhooks SET status = 'failed', attempt = 11 WHERE run_id = ?")
        .bind(run_id)
        .run();

    test("redelivers on request with the same payload and id", async () => {
      const { url, received } = hook("fails-once");
      const accepted = await run({ webhook: url });
      await until(accepted, "pending");
      await giveUp(accepted);
      const answer = await redeliver(accepted);
      expect([answer.status, (await answer.json<Delivery>()).status]).toEqual([202, "pending"]);
      await attemptNow(accepted);
      await until(accepted, "delivered", 2);
      const [first, second] = (await received()).map(({ headers, body }) => {
        const { webhook_sent_at: _, ...payload } = JSON.parse(body);
        return { id: headers["webhook-id"], payload };
      });
      expect(second).toEqual(first);
      const again = await redeliver(accepted);
      expect([again.status, await again.text()]).toEqual([
        409,
        expect.stringMatching(/The webhook was delivered at 20/),
      ]);
    });

    test("restarts its attempts on request, without waiting", async () => {
      const accepted = await run({ webhook: hook("fails").url });
      await until(accepted, "pending");
      await giveUp(accepted);
      for (const attempts of [2, 3]) {
        expect((await redeliver(accepted)).status).toBe(202);
        await consumeWebhook(env, { type: "run_webhook", run_webhook_id: accepted.run_id });
        const { next_attempt_at } = await until(accepted, "pending", attempts);
        expect(Date.parse(next_attempt_at ?? "")).toBeGreaterThan(Date.now());
      }
    });

    test.each(["failed", "pending"] as const)(
      "is redelivered when that was requested during an attempt that ends as %s",
      async (status) => {
        const accepted = await run({ webhook: hook("fails").url });
        await until(accepted, "pending");
        await env.DB.prepare("UPDATE run_webhooks SET due_at = ? WHERE run_id = ?")
          .bind(new Date(0).toISOString(), accepted.run_id)
          .run();
        const claimed = await claimWebhook(env, accepted.run_id, new Date());
        if (!claimed) throw new Error("The delivery is not claimed");
        expect((await redeliver(accepted)).status).toBe(202);
        const entry = { at: claimed.due_at, status: 503, error: "busy", duration_ms: 1 };
        const due_at = new Date(Date.now() + DAY_MS);
        const settled = await settleAttempt(env, claimed, entry, { status, due_at });
        expect(settled).toMatchObject({ is_ours: true, is_requested: true });
        await consumeWebhook(env, { type: "run_webhook", run_webhook_id: accepted.run_id });
        await until(accepted, "pending", 3);
      },
    );

    test("is deleted after a month, with its payload", async () => {
      const accepted = await run({ webhook: hook("gone").url });
      await until(accepted, "failed");
      const key = `webhooks/${deployment_id}/${accepted.run_id}.json`;
      expect(await env.ARTIFACTS.head(key)).not.toBeNull();
      await sweepDeliveryLogs(env, new Date(Date.now() + 29 * DAY_MS));
      expect(await logOf(accepted)).not.toBeNull();
      await sweepDeliveryLogs(env, new Date(Date.now() + 31 * DAY_MS));
      expect(await logOf(accepted)).toBeNull();
      expect(await env.ARTIFACTS.head(key)).toBeNull();
    });

    test("needs permission to write in the workspace of the run", async () => {
      const accepted = await run({ webhook: hook("gone").url });
      await until(accepted, "failed");
      const stranger = await workspace();
      expect((await redeliver(accepted, ours.viewer)).status).toBe(403);
      expect((await redeliver(accepted, stranger.admin)).status).toBe(404);
      expect((await redeliver({ ...accepted, run_id: newId() })).status).toBe(404);
      await env.ARTIFACTS.delete(`webhooks/${deployment_id}/${accepted.run_id}.json`);
      expect((await redeliver(accepted)).status).toBe(409);
      expect((await logOf(accepted))?.status).toBe("failed");
    });
  });

  test("that redirects is not followed", async () => {
    const accepted = await run({ webhook: hook("moved").url });
    const { attempts } = await until(accepted, "pending");
    expect(attempts[0]).toMatchObject({
      status: 302,
      error: expect.stringMatching(/not followed/),
    });
    expect(await (await fetch(`${inject("receiver_url")}/elsewhere`)).json()).toEqual([]);
  });

  test("that cannot be reached is named in the log", async () => {
    const accepted = await run({ webhook: "http://127.0.0.1:9/nobody" });
    const { attempts } = await until(accepted, "pending");
    expect(attempts[0]).toMatchObject({
      status: null,
      error: expect.stringMatching(/127\.0\.0\.1:9/),
    });
  });

  test("whose name leads to a private address is refused at the time of sending, for good", async () => {
    const cautious = {
      ...env,
      EGRESS_PRIVATE_WEBHOOKS: "false",
      EGRESS_DNS_URL: inject("dns_url"),
    };
    const accepted = await run({ webhook: "http://127.0.0.1:9/nobody" });
    await until(accepted, "pending");
    await env.DB.prepare("UPDATE run_webhooks SET url = ?, due_at = '' WHERE run_id = ?")
      .bind("https://private.example.com/hook", accepted.run_id)
      .run();
    await consumeWebhook(cautious, { type: "run_webhook", run_webhook_id: accepted.run_id });
    const { attempts } = await until(accepted, "failed", 2);
    expect(attempts[1]?.error).toMatch(/10\.0\.0\.1, which is not a public address/);
  });
});

describe("a crash", () => {
  const stubOf = ({ thread_id }: Run) =>
    env.THREADS.getByName(`${deployment_id}/${thread_id}`) as DurableObjectStub<ThreadObject>;

  test("between the end of a run and its queue loses nothing", async () => {
    const { url, received } = hook("ok");
    const accepted = await run({ webhook: url });
    await until(accepted, "delivered");
    // Restores the state before the message was queued.
    await env.DB.prepare("DELETE FROM run_webhooks WHERE run_id = ?").bind(accepted.run_id).run();
    await runInDurableObject(stubOf(accepted), (_object, { storage }) => {
      const payload = JSON.stringify({ run_id: accepted.run_id, status: "success" });
      createLazyTables(storage.sql);
      storage.sql.exec(
        "INSERT INTO webhook_outbox (run_id, url, payload) VALUES (?, ?, ?)",
        ...[accepted.run_id, url, payload],
      );
    });
    await runInDurableObject(stubOf(accepted), (_object, state) => state.abort("crash")).catch(
      () => {},
    );
    await api(`${agent}/threads/${accepted.thread_id}`, { key: ours.viewer });
    await until(accepted, "delivered");
    expect((await received()).map(({ headers }) => headers["webhook-id"])).toEqual([
      accepted.run_id,
      accepted.run_id,
    ]);
  });

  test("of an attempt, and a lost message, are recovered by the sweep", async () => {
    const { url } = hook("fails-once");
    const accepted = await run({ webhook: url });
    await until(accepted, "pending");
    // The second attempt began and its process died.
    const past = new Date(Date.now() - 60_000).toISOString();
    await env.DB.prepare(
      "UPDATE run_webhooks SET due_at = ?1, sent_at = ?1, lease_expires_at = ?1 WHERE run_id = ?2",
    )
      .bind(past, accepted.run_id)
      .run();
    await sweepWebhooks(env, new Date());
    await until(accepted, "delivered", 2);
  });

  test("of every attempt: each is followed by the pause of one that fails, and the last ends the delivery", async () => {
    const { url, received } = hook("ok");
    const run_id = newId();
    const owner = { run_id, workspace_id: newId(), deployment_id, thread_id: newId(), url };
    const start = new Date(Date.now() - DAY_MS).toISOString();
    const times = { due_at: start, sent_at: start, created_at: start };
    const waiting = { status: "pending", attempt: 0, attempts: [] as [] } as const;
    await database(env)
      .insert(run_webhooks)
      .values({ ...owner, ...waiting, ...times });
    const pauses: number[] = [];
    let now = new Date(start);
    for (let attempt = 1; attempt <= 11; attempt++) {
      const claimed = await claimWebhook(env, run_id, now);
      expect(claimed?.attempt).toBe(attempt);
      const due = Date.parse(claimed?.due_at ?? "");
      pauses.push((due - now.getTime()) / 1000);
      now = new Date(Math.max(due, now.getTime() + LEASE_MS));
    }
    expect(pauses).toEqual([...PAUSES_SECONDS, 0]);
    const isRun = eq(run_webhooks.run_id, run_id);
    await database(env).update(run_webhooks).set({ lease_expires_at: start }).where(isRun);
    await consumeWebhook(env, { type: "run_webhook", run_webhook_id: run_id });
    const [ended] = await database(env).select().from(run_webhooks).where(isRun);
    expect([ended?.status, ended?.attempts.at(-1)?.error]).toEqual([
      "failed",
      expect.stringContaining("process of the last one"),
    ]);
    expect(await received()).toEqual([]);
  });

  test("of an attempt is its error once its lease has ended, and not before", async () => {
    const run_id = newId();
    const owner = { run_id, workspace_id: newId(), deployment_id, thread_id: newId() };
    const now = new Date();
    const times = {
      due_at: now.toISOString(),
      sent_at: now.toISOString(),
      created_at: now.toISOString(),
    };
    const waiting = { status: "pending", attempt: 0, attempts: [] as [] } as const;
    await database(env)
      .insert(run_webhooks)
      .values({ ...owner, url: hook("ok").url, ...waiting, ...times });
    const claimed = await claimWebhook(env, run_id, now);
    if (!claimed) throw new Error("The delivery was not claimed");
    const errorsOf = (row: WebhookRow) => toDelivery(row).attempts.map(({ error }) => error);
    expect(errorsOf(claimed)).toEqual([null]);
    expect(errorsOf({ ...claimed, lease_expires_at: now.toISOString() })).toEqual([
      expect.stringContaining("process of the attempt ended"),
    ]);
  });

  test("of many attempts: each end makes room for the delivery that waits longest", async () => {
    const { url, received } = hook("ok");
    const now = new Date();
    const ids = Array.from({ length: MAX_ATTEMPTS_AT_ONCE + 2 }, () => newId());
    const workspace_id = newId();
    for (const [n, run_id] of ids.entries()) {
      const at = new Date(now.getTime() - 10_000 + n).toISOString();
      const owner = { run_id, workspace_id, deployment_id, thread_id: newId(), url };
      const times = { due_at: at, sent_at: at, created_at: at };
      const waiting = { status: "pending", attempt: 0, attempts: [] as [] } as const;
      await database(env)
        .insert(run_webhooks)
        .values({ ...owner, ...waiting, ...times });
    }
    const claims = await Promise.all(ids.map((id) => claimWebhook(env, id, now)));
    const claimed = claims.filter((row) => row !== null);
    const refused = ids.filter((id) => !claimed.some(({ run_id }) => run_id === id));
    expect([claimed.length, refused.length]).toEqual([MAX_ATTEMPTS_AT_ONCE, 2]);
    expect(await claimNextWebhook(env, workspace_id, now)).toBeNull();
    const [first] = claimed;
    if (!first) throw new Error("No delivery was claimed");
    const entry = { at: now.toISOString(), status: 200, error: null, duration_ms: 1 };
    const end = { status: "delivered", due_at: now } as const;
    expect(await settleAttempt(env, first, entry, end)).toEqual({
      is_ours: true,
      is_requested: false,
      is_next_waiting: true,
    });
    const next = await claimNextWebhook(env, workspace_id, now);
    expect(next?.run_id).toBe(refused[0]);
    expect(await received()).toEqual([]);
  });

  test("of the receiver's other side: two messages at once make one attempt", async () => {
    const { url, received } = hook("ok");
    const run_id = newId();
    const row = { run_id, workspace_id: ours.workspace_id, deployment_id, thread_id: newId(), url };
    const now = new Date().toISOString();
    const waiting = {
      status: "pending",
      attempt: 0,
      attempts: [],
      due_at: now,
      sent_at: now,
    } as const;
    await env.ARTIFACTS.put(`webhooks/${deployment_id}/${run_id}.json`, '{"a":1}');
    await database(env)
      .insert(run_webhooks)
      .values({ ...row, ...waiting, attempts: [], created_at: now });
    const message = { type: "run_webhook", run_webhook_id: run_id } as const;
    await Promise.all([consumeWebhook(env, message), consumeWebhook(env, message)]);
    await consumeWebhook(env, message);
    expect(await received()).toHaveLength(1);
  });
});

describe("a large payload", () => {
  const BUSY = new AppError("unavailable", "Too many large requests at once");

  /** Stores a delivery that is due, without a message. */
  async function store(url: string, payload: string) {
    const run_id = newId();
    const now = new Date().toISOString();
    const owner = { run_id, workspace_id: ours.workspace_id, deployment_id, thread_id: newId() };
    const waiting = { status: "pending", attempt: 0, attempts: [] as [] } as const;
    await env.ARTIFACTS.put(`webhooks/${deployment_id}/${run_id}.json`, payload);
    const times = { due_at: now, sent_at: now, created_at: now };
    await database(env)
      .insert(run_webhooks)
      .values({ ...owner, url, ...waiting, ...times });
    const isRun = eq(run_webhooks.run_id, run_id);
    return {
      run_id,
      consume: () => consumeWebhook(env, { type: "run_webhook", run_webhook_id: run_id }),
      row: async () => (await database(env).select().from(run_webhooks).where(isRun))[0],
      change: (fields: Partial<typeof run_webhooks.$inferInsert>) =>
        database(env).update(run_webhooks).set(fields).where(isRun),
    };
  }

  const large = JSON.stringify({ text: "\u{1f600}\u00fc".repeat(60_000) });

  test("waits for the memory of the isolate without a failed attempt, and small ones do not wait", async () => {
    const hooks = [hook("ok"), hook("ok")] as const;
    const waiting = await store(hooks[0].url, large);
    const small = await store(hooks[1].url, '{"a":1}');
    const end = Promise.withResolvers<void>();
    const held = [8, 9].map((mib) =>
      ISOLATE_BUDGET.hold(async (reserve) => {
        await reserve(mib * 1024 * 1024);
        await end.promise;
      }),
    );
    const sent = waiting.consume();
    await small.consume();
    expect((await hooks[1].received())[0]?.body).toMatch(/^\{"a":1,"webhook_sent_at":"[^"]*Z"\}$/);
    await scheduler.wait(50);
    expect([await hooks[0].received(), (await waiting.row())?.status]).toEqual([[], "pending"]);
    end.resolve();
    await Promise.all([...held, sent]);
    const [request] = await hooks[0].received();
    const { webhook_sent_at, ...payload } = JSON.parse(request?.body ?? "");
    expect(payload).toEqual(JSON.parse(large));
    expect(Date.parse(webhook_sent_at)).toBeLessThanOrEqual(Date.now());
    expect(await waiting.row()).toMatchObject({ status: "delivered", attempt: 1, attempts: [{}] });
  });

  test("waits on when the isolate is full for a minute, and renews its lease", async () => {
    const { run_id, row, change } = await store(hook("ok").url, large);
    const claimed = await claimWebhook(env, run_id, new Date());
    if (!claimed) throw new Error("The delivery was not claimed");
    let waits = 0;
    const reserve = async () => {
      await change({ lease_expires_at: new Date(0).toISOString() });
      if (++waits < 3) throw BUSY;
    };
    const hold = vi.spyOn(ISOLATE_BUDGET, "hold");
    hold.mockImplementation((work) => work(reserve, () => {}));
    const leases: (string | null | undefined)[] = [];
    const sent = await sendAdmitted(env, claimed, large.length * 2, async () => {
      leases.push((await row())?.lease_expires_at);
      return DELIVERED;
    });
    hold.mockRestore();
    expect([sent, waits, leases.length]).toEqual([DELIVERED, 3, 1]);
    expect(Date.parse(leases[0] ?? "")).toBeGreaterThan(Date.now());
  });

  test("is not sent when a newer attempt began during the wait", async () => {
    const { url, received } = hook("ok");
    const { consume, row, change } = await store(url, large);
    const hold = vi.spyOn(ISOLATE_BUDGET, "hold");
    hold.mockImplementation((work) =>
      work(
        async () => void (await change({ attempt: 2 })),
        () => {},
      ),
    );
    await consume();
    hold.mockRestore();
    expect(await received()).toEqual([]);
    expect(await row()).toMatchObject({ status: "pending", attempt: 2 });
  });
});

describe("the secret of a workspace", () => {
  const SECRET = "/v1/run-webhooks/secret";
  const put = (owner: TestWorkspace, json: unknown, key = owner.admin) =>
    api(SECRET, { key, method: "PUT", json });

  /** Verifies a signature with another implementation. */
  function isSigned({ headers, body }: Received, secret: string): boolean {
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    const text = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
    const signature = `v1,${createHmac("sha256", key).update(text).digest("base64")}`;
    return headers["webhook-signature"]?.split(" ").includes(signature) ?? false;
  }

  test("signs each webhook, and the previous secret also signs for a day", async () => {
    const payload = async () => {
      const { url, received } = hook("ok");
      await until(await run({ webhook: url }), "delivered");
      return (await received())[0] as Received;
    };
    expect((await payload()).headers).not.toHaveProperty("webhook-signature");
    const first = `whsec_${btoa("0123456789abcdefghijklmnopqrstuv")}`;
    const set = await put(ours, { secret: first });
    expect(await set.json()).toMatchObject({
      is_set: true,
      secret: null,
      previous_valid_until: null,
    });
    const signed = await payload();
    expect(isSigned(signed, first)).toBe(true);
    expect(isSigned({ ...signed, body: `${signed.body} ` }, first)).toBe(false);
    const rotated = await (await put(ours, {})).json<Record<string, string>>();
    const second = rotated.secret ?? "";
    expect(second).toMatch(/^whsec_/);
    const repeated = await put(ours, { secret: second });
    expect(await repeated.json()).toMatchObject({ is_set: true, secret: null });
    const both = await payload();
    expect([first, second].map((secret) => isSigned(both, secret))).toEqual([true, true]);
    await env.DB.prepare("UPDATE webhook_secrets SET previous_valid_until = ?").bind("2026").run();
    const later = await payload();
    expect([first, second].map((secret) => isSigned(later, secret))).toEqual([false, true]);
    expect((await api(SECRET, { key: ours.admin, method: "DELETE" })).status).toBe(204);
    expect((await payload()).headers).not.toHaveProperty("webhook-signature");
  });

  test("keeps the secret that receivers have when a rotation is repeated", async () => {
    const owner = await workspace();
    const given = `whsec_${btoa("0123456789abcdefghijklmnopqrstuv")}`;
    await put(owner, { secret: given });
    const made = [];
    for (let n = 0; n < 2; n++) {
      const { secret } = await (await put(owner, {})).json<{ secret: string }>();
      made.push(secret);
    }
    const signing = await signingSecrets(env, owner.workspace_id, new Date());
    expect(signing).toEqual([made[1], given]);
  });

  test("is shown once, and is nowhere in plain", async () => {
    const owner = await workspace();
    const { secret = "" } = await (await put(owner, {})).json<{ secret?: string }>();
    const state = await (await api(SECRET, { key: owner.viewer })).text();
    expect(JSON.parse(state)).toMatchObject({ is_set: true });
    expect(state).not.toContain(secret);
    const row = await env.DB.prepare("SELECT * FROM webhook_secrets WHERE workspace_id = ?")
      .bind(owner.workspace_id)
      .first();
    expect(JSON.stringify(row)).not.toContain(secret.slice(6));
    const other = await workspace();
    expect(await (await api(SECRET, { key: other.viewer })).json()).toMatchObject({
      is_set: false,
    });
  });

  test.each([
    ["too short", `whsec_${btoa("short")}`],
    ["a byte too short", `whsec_${btoa("a".repeat(23))}`],
    ["a byte too long", `whsec_${btoa("a".repeat(65))}`],
    ["of another scheme", "0123456789abcdefghijklmnopqrstuvwxyz0123456789"],
    ["no base64", `whsec_${"*".repeat(40)}`],
  ])("is refused when it is %s", async (_how, secret) => {
    const refused = await put(ours, { secret });
    expect([refused.status, await refused.text()]).toEqual([422, expect.stringMatching(/secret/)]);
  });

  test("is for admins to set", async () => {
    expect((await put(ours, {}, ours.editor)).status).toBe(403);
  });
});

test("the log of a delivery is its workspace's own", async () => {
  const accepted = await run({ webhook: hook("ok").url });
  await until(accepted, "delivered");
  const theirs = await workspace();
  expect(await logOf(accepted, theirs.admin)).toBeNull();
  expect(await logOf({ ...accepted, thread_id: newId() })).toBeNull();
  expect(await logOf(await run({}))).toBeNull();
});

test.each([
  ["a path of the agent's own app", "/custom/webhook", /the agent has no HTTP app/],
  ["no URL", "hooks.example", /must be an http:\/\/ or https:\/\/ URL/],
  ["a URL with a password", "https://user:secret@example.com/", /without a user name/],
  ["too long", `https://example.com/${"x".repeat(2048)}`, /webhook/],
])("a webhook that is %s is refused with the run", async (_what, webhook, text) => {
  const thread_id = await newThread();
  for (const path of [`/threads/${thread_id}/runs`, "/runs/wait", "/runs/stream"]) {
    const refused = await post(path, { assistant_id: "echo", input: hi, webhook });
    expect([refused.status, await refused.text()]).toEqual([422, expect.stringMatching(text)]);
  }
});

test("the payload of a delivery whose process ended before its deletion is deleted with the log", async () => {
  const accepted = await run({ webhook: hook("ok").url });
  await until(accepted, "delivered");
  const key = `webhooks/${deployment_id}/${accepted.run_id}.json`;
  await eventually(async () => expect(await env.ARTIFACTS.head(key)).toBeNull());
  await env.ARTIFACTS.put(key, "{}");
  await sweepDeliveryLogs(env, new Date(Date.now() + 31 * DAY_MS));
  expect(await logOf(accepted)).toBeNull();
  expect(await env.ARTIFACTS.head(key)).toBeNull();
});

test("webhooks are deleted with their deployment, and logs after a month", async () => {
  const { deployment_id: other } = await testDeployment(ours.workspace_id);
  const [kept, old, gone] = [newId(), newId(), newId()];
  const far = new Date(Date.now() + DAY_MS).toISOString();
  const row = (run_id: string, of: string, due_at: string) => ({
    ...{ run_id, workspace_id: ours.workspace_id, deployment_id: of, thread_id: newId(), due_at },
    ...{ url: "https://example.com", status: "delivered" as const, attempt: 1, attempts: [] },
    ...{ sent_at: due_at, created_at: due_at },
  });
  await database(env)
    .insert(run_webhooks)
    .values([
      row(kept, deployment_id, far),
      row(old, deployment_id, "2026"),
      row(gone, other, far),
    ]);
  await env.ARTIFACTS.put(`webhooks/${other}/${gone}.json`, "{}");
  await sweepDeliveryLogs(env, new Date());
  expect(await deleteWebhooksOf(env, other)).toBe(true);
  expect((await env.ARTIFACTS.list({ prefix: `webhooks/${other}/` })).objects).toEqual([]);
  const { results } = await env.DB.prepare(
    "SELECT run_id FROM run_webhooks WHERE run_id IN (?, ?, ?)",
  )
    .bind(kept, old, gone)
    .all();
  expect(results).toEqual([{ run_id: kept }]);
});

test("a minute deletes the logs of more than a few runs", async () => {
  const of = newId();
  await env.DB.prepare(
    `INSERT INTO run_webhooks (run_id, workspace_id, deployment_id, thread_id, url, status, attempt, attempts, due_at, sent_at, created_at)
     SELECT ?1 || value, ?2, ?1, ?1, 'https://example.com', 'delivered', 1, '[]', '2026', '2026', '2026' FROM json_each(?3)`,
  )
    .bind(of, ours.workspace_id, JSON.stringify(Array.from({ length: 1200 }, (_, n) => n)))
    .run();
  await sweepDeliveryLogs(env, new Date());
  const isOf = eq(run_webhooks.deployment_id, of);
  expect(await database(env).$count(run_webhooks, isOf)).toBe(0);
});

describe("webhooks of langgraph.json", () => {
  const SECRET = "s3cr3t-of-the-receiver";

  async function configured(webhooks: object, secrets: { name: string; value: string }[] = []) {
    const made = await testDeployment(ours.workspace_id, { webhooks });
    const setSecrets = async (all: typeof secrets) => {
      const ctx = systemContext(ours.workspace_id);
      for (const one of await writeSecrets(ctx, made.deployment_id, { all }, "2026")) await one;
    };
    await setSecrets(secrets);
    const at = `/agents/${made.deployment_id}`;
    const call = (path: string, json?: unknown) =>
      api(`${at}${path}`, { key: ours.editor, ...(json !== undefined && { json }) });
    const start = async (webhook: string) => {
      const { thread_id } = await (await call("/threads", {})).json<Run>();
      const response = await call(`/threads/${thread_id}/runs`, {
        ...{ assistant_id: "echo", input: hi, webhook },
      });
      return response.json<Run>();
    };
    const settled = (run: Run, attempts = 1) =>
      eventually(async () => {
        const path = `/threads/${run.thread_id}/runs/${run.run_id}/webhook`;
        const text = await (await call(path)).text();
        const delivery: Delivery = JSON.parse(text);
        expect(delivery.attempts).toHaveLength(attempts);
        expect(delivery.attempts.at(-1)?.duration_ms).not.toBeNull();
        return { ...delivery, text };
      });
    return { ...made, call, start, settled, setSecrets };
  }

  const OURS = { allowed_domains: ["127.0.0.1"] };

  test("headers with secrets are sent to no host while no domain is allowed", async () => {
    const headers = { Authorization: `Bearer \${{ env.LG_WEBHOOK_TOKEN }}` };
    const secrets = [{ name: "LG_WEBHOOK_TOKEN", value: SECRET }];
    const { call, start, settled, revision_id, deployment_id } = await configured({}, secrets);
    const { url, received } = hook("fails");
    const started = await start(url);
    expect((await settled(started)).status).toBe("pending");
    const config = { webhooks: { headers } };
    await database(env).update(revisions).set({ config }).where(eq(revisions.id, revision_id));
    forgetActive(deployment_id);
    await attemptNow(started);
    const { status, attempts } = await settled(started, 2);
    const why = expect.stringContaining("set webhooks.url.allowed_domains");
    expect([status, attempts[1]?.error]).toEqual(["failed", why]);
    const refused = await call("/runs", { assistant_id: "echo", input: hi, webhook: url });
    expect([refused.status, await refused.text()]).toEqual([422, why]);
    expect(JSON.stringify(await received())).not.toContain(SECRET);
    expect(await received()).toHaveLength(1);
  });

  test("headers are sent, with the deployment's secrets in them", async () => {
    const headers = {
      "X-Env": "prod",
      Authorization: `Bearer \${{ env.LG_WEBHOOK_TOKEN }}!`,
      "User-Agent": "us",
    };
    const secrets = [{ name: "LG_WEBHOOK_TOKEN", value: SECRET }];
    const { start, settled } = await configured({ headers, url: OURS }, secrets);
    const { url, received } = hook("ok");
    const started = await start(url);
    const { status, text } = await settled(started);
    expect([status, text.includes(SECRET)]).toEqual(["delivered", false]);
    const [payload] = await received();
    expect(payload?.headers).toMatchObject({
      "x-env": "prod",
      authorization: `Bearer ${SECRET}!`,
      "user-agent": "us",
      "content-type": "application/json",
      "webhook-id": started.run_id,
    });
    expect(payload?.body).not.toContain(SECRET);
    const row = await env.DB.prepare("SELECT * FROM run_webhooks WHERE run_id = ?")
      .bind(started.run_id)
      .first();
    expect(JSON.stringify(row)).not.toContain(SECRET);
  });

  test("a missing or invalid secret is named in the log; once set, it is sent", async () => {
    const headers = { "x-token": `\${{ env.MY_TOKEN }}` };
    const { start, settled, setSecrets } = await configured({
      env_prefix: "MY_",
      headers,
      url: OURS,
    });
    const { url, received } = hook("ok");
    const started = await start(url);
    const first = await settled(started);
    expect([first.status, first.attempts[0]?.error]).toEqual([
      "pending",
      expect.stringContaining(
        "webhooks.headers.x-token of the agent: env.MY_TOKEN has no allowed value",
      ),
    ]);
    await setSecrets([{ name: "MY_TOKEN", value: `${SECRET}\nx-evil: 1` }]);
    await attemptNow(started);
    const second = await settled(started, 2);
    expect(second.attempts[1]?.error).toContain("must be one line of ASCII text");
    expect(second.text).not.toContain(SECRET);
    expect(await received()).toEqual([]);
    await setSecrets([{ name: "MY_TOKEN", value: SECRET }]);
    await attemptNow(started);
    expect((await settled(started, 3)).status).toBe("delivered");
    expect((await received())[0]?.headers["x-token"]).toBe(SECRET);
  });

  test("an old revision whose header reads a variable outside env_prefix sends nothing", async () => {
    const headers = { "x-key": `\${{ env.OPENAI_API_KEY }}` };
    const secrets = [{ name: "OPENAI_API_KEY", value: SECRET }];
    const { start, settled } = await configured({ headers, url: OURS }, secrets);
    const { url, received } = hook("ok");
    const { attempts } = await settled(await start(url));
    expect(attempts[0]?.error).toContain("env.OPENAI_API_KEY");
    expect(await received()).toEqual([]);
  });

  const RULES = {
    require_https: true,
    allowed_domains: ["*.example.com"],
    allowed_ports: [443],
    max_url_length: 60,
    disable_loopback: true,
  };

  test.each([
    ["require_https", "http://a.example.com/"],
    ["allowed_domains", "https://example.com/"],
    ["allowed_ports", "https://a.example.com:444/"],
    ["max_url_length", `https://a.example.com/${"x".repeat(60)}`],
    ["disable_loopback", "/custom/webhook"],
  ] as const)("%s refuses a run and a cron, naming the rule", async (rule, webhook) => {
    const app = { http: { app: "./app.ts:app" } };
    const { deployment_id: id } = await testDeployment(ours.workspace_id, {
      ...(webhook.startsWith("/") && app),
      webhooks: { url: { [rule]: RULES[rule] } },
    });
    for (const path of ["/runs", "/runs/wait", "/runs/crons"]) {
      const json = { assistant_id: "echo", webhook, schedule: "0 0 * * *" };
      const refused = await api(`/agents/${id}${path}`, { key: ours.editor, json });
      const text = expect.stringMatching(
        new RegExp(`webhook: .*webhooks\\.url\\.${rule} of this agent`),
      );
      expect([refused.status, await refused.text()]).toEqual([422, text]);
    }
  });

  test("rules add to the installation's, and are checked again at delivery", async () => {
    const made = await configured({ url: { allowed_ports: [9] } });
    const { start, settled, revision_id, deployment_id: id } = made;
    // The receiver does not answer.
    const started = await start("http://127.0.0.1:9/nobody");
    expect((await settled(started)).status).toBe("pending");
    const config = { webhooks: { url: { allowed_domains: ["hooks.example.com"] } } };
    await database(env).update(revisions).set({ config }).where(eq(revisions.id, revision_id));
    forgetActive(id);
    await attemptNow(started);
    const { status, attempts } = await settled(started, 2);
    expect([status, attempts[1]?.error]).toEqual([
      "failed",
      expect.stringMatching(/leads to 127\.0\.0\.1; webhooks\.url\.allowed_domains/),
    ]);
  });

  test("that Heddle cannot read let nothing out", async () => {
    const { call } = await configured({ url: { allowed_domains: "hooks.example.com" } });
    const refused = await call("/runs", { assistant_id: "echo", webhook: hook("ok").url });
    expect([refused.status, await refused.text()]).toEqual([
      422,
      expect.stringContaining("create a new revision"),
    ]);
  });
});
