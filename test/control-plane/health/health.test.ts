import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import { aroundEach, beforeAll, describe, expect, test, vi } from "vitest";
import { run_webhooks } from "../../../src/agent-server/webhooks/table.ts";
import { revisions } from "../../../src/control-plane/deployments/table.ts";
import type { Health } from "../../../src/control-plane/health/health-schema.ts";
import { checkHealth, recordTick } from "../../../src/control-plane/health/health-service.ts";
import { bulk_export_files, bulk_exports } from "../../../src/exports/table.ts";
import worker from "../../../src/index.ts";
import { database } from "../../../src/shared/context.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { projects } from "../../../src/traces/catalogue/table.ts";
import { type Exporter, ordered } from "../../exports/support/exports.ts";
import { deploymentRow, revisionRow } from "../../support/deployment.ts";
import { withEmptyTables } from "../../support/own-tables.ts";
import { api, workspace } from "../../support/workspace.ts";

const HOUR_MS = 3600_000;
const db = database(env);

function ago(ms: number): string {
  return new Date(Date.now() - ms).toISOString();
}

let ours: Exporter;
beforeAll(async () => {
  ours = { ...(await workspace()), destination_id: newId() };
});

const TABLES = ["revisions", "bulk_exports", "bulk_export_files", "run_webhooks", "projects"];

aroundEach(async (runTest) => {
  await recordTick(env);
  await withEmptyTables(TABLES, runTest);
});

async function stuck(now = new Date(), on: Env = env) {
  const { status, checks } = await checkHealth(on, now);
  const names = checks.filter((check) => check.status !== "ok").map(({ name }) => name);
  expect(status).toBe(names.length === 0 ? "ok" : "stuck");
  return names;
}

function exported(fields: Parameters<typeof ordered>[2] | object = {}) {
  const [start_time, end_time] = [ago(2 * HOUR_MS), ago(HOUR_MS)];
  return ordered(ours, newId(), { start_time, end_time, ...fields });
}

async function file(
  bulk_export_id: string,
  fields: Partial<typeof bulk_export_files.$inferInsert>,
) {
  const id = newId();
  await db.insert(bulk_export_files).values({
    id,
    bulk_export_id,
    workspace_id: ours.workspace_id,
    number: 0,
    key: id,
    chunk: { day: "2026-11-20", slot: 0 } as never,
    rows_planned: 1,
    status: "RUNNING",
    token: 1,
    retry_number: 0,
    retry_limit: 3,
    rows_written: 0,
    bytes_written: 0,
    sent_at: ago(0),
    updated_at: ago(0),
    ...fields,
  });
}

function webhook(fields: Partial<typeof run_webhooks.$inferInsert>) {
  const [workspace_id, now] = [ours.workspace_id, ago(0)];
  const ids = { run_id: newId(), workspace_id, deployment_id: newId(), thread_id: newId() };
  const row = { ...ids, url: "https://receiver.test/", status: "pending", attempt: 0 } as const;
  const times = { due_at: now, sent_at: now, created_at: now };
  return db.insert(run_webhooks).values({ ...row, attempts: [], ...times, ...fields });
}

function project(deleted_at: string | null) {
  const now = ago(0);
  const times = { start_time: now, created_at: now, updated_at: now, deleted_at, sent_at: now };
  const id = newId();
  return db.insert(projects).values({ id, workspace_id: ours.workspace_id, name: id, ...times });
}

test("nothing is stuck without work, and the values of the stores are known", async () => {
  const { status, checks } = await checkHealth(env, new Date());
  expect(status).toBe("ok");
  const value = (name: string) => checks.find((check) => check.name === name)?.value;
  expect(value("database_size")).toBeGreaterThan(10_000);
  expect(value("sweep_age")).toBeLessThan(60);
  expect(value("build_age")).toBeNull();
});

describe("names the work that waits too long, and no other", () => {
  test("a build", async () => {
    const deployment = await deploymentRow(ours.workspace_id);
    const old = { created_at: ago(HOUR_MS), updated_at: ago(HOUR_MS) };
    await revisionRow(deployment, { ...old, status: "DEPLOYED" });
    await revisionRow(deployment, { number: 2 });
    expect(await stuck()).toEqual([]);
    await revisionRow(deployment, { ...old, number: 3 });
    expect(await stuck()).toEqual(["build_age"]);
  });

  test("a build, except behind leased builds of its workspace", async () => {
    const deployment = await deploymentRow(ours.workspace_id);
    const old = { created_at: ago(HOUR_MS), updated_at: ago(HOUR_MS) };
    const leased = { status: "BUILDING", lease_expires_at: ago(-10_000) } as const;
    await revisionRow(deployment, old);
    // A build that waited for an hour before its claim.
    await revisionRow(deployment, { ...old, ...leased, number: 2, updated_at: ago(0) });
    expect(await stuck()).toEqual(["build_age"]);
    await revisionRow(deployment, { ...old, ...leased, number: 3, updated_at: ago(0) });
    expect(await stuck()).toEqual([]);
    const theirs = await deploymentRow(newId());
    const { id } = await revisionRow(theirs, old);
    expect(await stuck()).toEqual(["build_age"]);
    await db.delete(revisions).where(sql`id = ${id}`);
    await revisionRow(deployment, { ...old, ...leased, number: 4 });
    expect(await stuck()).toEqual(["build_age"]);
  });

  test("an export that is not planned, except while its workspace has another", async () => {
    const waiting = await exported({ updated_at: ago(HOUR_MS) });
    expect(await stuck()).toEqual(["export_age"]);
    const isIts = sql`id = ${waiting.id}`;
    await db
      .update(bulk_exports)
      .set({ next_attempt_at: ago(-HOUR_MS) })
      .where(isIts);
    expect(await stuck()).toEqual([]);
    await db.update(bulk_exports).set({ next_attempt_at: null }).where(isIts);
    await exported({ status: "RUNNING" });
    expect(await stuck()).toEqual([]);
  });

  test("a file whose attempt was lost, except one that waits for its bucket or its turn", async () => {
    const { id } = await exported({ status: "RUNNING" });
    await file(id, { status: "WAITING", token: 0, updated_at: ago(HOUR_MS) });
    await file(id, { status: "WAITING", next_attempt_at: ago(-HOUR_MS) });
    await file(id, { lease_expires_at: ago(-10_000), next_attempt_at: ago(HOUR_MS) });
    expect(await stuck()).toEqual([]);
    await file(id, { lease_expires_at: ago(HOUR_MS) });
    expect(await stuck()).toEqual(["export_file_age"]);
  });

  test("a window, except one that waits for a quota", async () => {
    const schedule = { status: "INTERVAL_SCHEDULED", next_window_at: ago(HOUR_MS) } as const;
    await exported({ ...schedule, sent_at: ago(0) });
    expect(await stuck()).toEqual([]);
    await exported({ ...schedule, sent_at: ago(HOUR_MS) });
    expect(await stuck()).toEqual(["export_window_age"]);
  });

  test("a webhook, except one before its next attempt, or beside one of its workspace", async () => {
    const workspace_id = crypto.randomUUID();
    await webhook({ workspace_id, due_at: ago(HOUR_MS), lease_expires_at: ago(-10_000) });
    await webhook({ workspace_id, due_at: ago(HOUR_MS) });
    await webhook({ due_at: ago(-HOUR_MS) });
    await webhook({ due_at: ago(HOUR_MS), status: "delivered" });
    expect(await stuck()).toEqual([]);
    await webhook({ due_at: ago(HOUR_MS) });
    expect(await stuck()).toEqual(["webhook_age"]);
  });

  test("a deletion of a project", async () => {
    await project(null);
    await project(ago(HOUR_MS));
    expect(await stuck()).toEqual([]);
    await project(ago(7 * HOUR_MS));
    expect(await stuck()).toEqual(["project_deletion_age"]);
  });

  test("the cron, also when it never ran", async () => {
    expect(await stuck(new Date(Date.now() + 200_000))).toEqual([]);
    expect(await stuck(new Date(Date.now() + 302_000))).toEqual(["sweep_age"]);
    await env.ARTIFACTS.delete("health/tick");
    expect(await stuck()).toEqual(["sweep_age"]);
    await worker.scheduled(createScheduledController({ cron: "* * * * *" }), env);
    expect(await stuck()).toEqual([]);
  });
});

describe("a store that fails", () => {
  const failing = () => Promise.reject(new Error("down"));
  test("leaves the values of the other one", async () => {
    const DB = { prepare: () => ({ bind: () => ({ run: failing }) }) } as never;
    const names = await stuck(new Date(), { ...env, DB });
    expect(names).toHaveLength(8);
    expect(names).not.toContain("sweep_age");
    const ARTIFACTS = { head: failing } as never;
    expect(await stuck(new Date(), { ...env, ARTIFACTS })).toEqual([
      "storage_latency",
      "sweep_age",
    ]);
  });

  test("that never answers is given up", async () => {
    const ARTIFACTS = { head: () => new Promise(() => {}) } as never;
    expect(await stuck(new Date(), { ...env, ARTIFACTS })).toContain("storage_latency");
  });
});

test("the response is public, costs one statement in five seconds, and names the remedy", async () => {
  const prepare = vi.spyOn(env.DB, "prepare");
  const clock = vi.spyOn(Date, "now");
  try {
    const read = async () => {
      const response = await api("/v1/health");
      return { status: response.status, body: await response.json<Health>() };
    };
    const first = await read();
    expect([first.status, first.body.status]).toEqual([200, "ok"]);
    await project(ago(7 * HOUR_MS));
    prepare.mockClear();
    expect(await read()).toEqual(first);
    expect(prepare).not.toHaveBeenCalled();
    const later = Date.now() + 6000;
    clock.mockImplementation(() => later);
    const second = await read();
    expect([second.status, second.body.status]).toEqual([503, "stuck"]);
    expect(prepare).toHaveBeenCalledTimes(1);
    const check = second.body.checks.find(({ status }) => status === "stuck");
    expect(check).toMatchObject({ name: "project_deletion_age", threshold: 21_600, unit: "s" });
    expect(check?.remedy).toContain("heddle-deletions");
  } finally {
    vi.restoreAllMocks();
  }
});
