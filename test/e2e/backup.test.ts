// A backup that is taken while runs go on, and a service on what it restores.
import { execFile } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { freePort } from "../../local/processes/ports.ts";
import type { BulkExport } from "../../src/exports/schema.ts";
import { download, type Manifest, readManifest } from "./support/exports.ts";
import { queryParquet } from "./support/parquet.ts";
import { type Service, startService } from "./support/service.ts";
import { until } from "./support/stack.ts";

type Acknowledged = { thread_id: string; words: string[]; trace_ids: string[] };

const CLIENTS = 3;
const ROUNDS_BEFORE = 4;
const PROJECT = "under-load";
const prefix = `backup-${randomUUID().slice(0, 8)}`;
const s3 = inject("s3");
const run = promisify(execFile);
const environment = {
  ...process.env,
  AWS_ACCESS_KEY_ID: s3.access_key_id,
  AWS_SECRET_ACCESS_KEY: s3.secret_access_key,
  AWS_REGION: s3.region,
  AWS_ENDPOINT_URL: s3.endpoint,
  BACKUP_KEY: randomBytes(32).toString("base64"),
};

let home: string;
let service: Service;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "heddle-backup-"));
  service = await startService({ dir: join(home, "data"), port: await freePort() });
});
afterAll(async () => {
  await service.stop();
  await rm(home, { recursive: true, force: true });
});

/** Sends runs and traces until the signal. Resolves with what the service acknowledged. */
async function sendLoad(agent: string, load: Acknowledged, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const words = `message ${load.words.length}`;
    const input = { messages: [{ role: "user", content: words }] };
    const order = { assistant_id: "echo", input };
    const ran = await service.call("POST", `${agent}/threads/${load.thread_id}/runs/wait`, order);
    expect(ran.status).toBe(200);
    load.words.push(words);
    const trace = newTrace();
    const sent = await service.call("POST", "/runs/batch", { post: [trace], patch: [] });
    expect(sent.status).toBe(202);
    load.trace_ids.push(trace.id);
  }
}

function newTrace() {
  const id = randomUUID();
  const now = new Date().toISOString();
  const order = `${now.replace(/[-:.]/g, "").replace("Z", "000Z")}${id}`;
  return {
    ...{ id, trace_id: id, dotted_order: order, name: "step", run_type: "chain" },
    ...{ start_time: now, end_time: now, session_name: PROJECT, inputs: {}, outputs: {} },
  };
}

/** Exports the project and returns how often each run is in the files. */
async function exportProject(): Promise<Map<string, number>> {
  const { body: sessions } = await service.call<{ id: string }[]>(
    "GET",
    `/api/v1/sessions?name=${PROJECT}`,
  );
  const destination = await service.call<{ id: string }>(
    "POST",
    "/api/v1/bulk-exports/destinations",
    {
      ...{ destination_type: "s3", display_name: "restored" },
      config: { bucket_name: s3.bucket, prefix, region: s3.region, endpoint_url: s3.endpoint },
      credentials: { access_key_id: s3.access_key_id, secret_access_key: s3.secret_access_key },
    },
  );
  const { body } = await service.call<BulkExport>("POST", "/api/v1/bulk-exports", {
    ...{ format_version: "v2_beta", session_id: sessions[0]?.id },
    bulk_export_destination_id: destination.body.id,
    start_time: new Date(Date.now() - 3_600_000).toISOString(),
    end_time: new Date().toISOString(),
  });
  await until(
    "The end of the export",
    () => service.call<BulkExport>("GET", `/api/v1/bulk-exports/${body.id}`),
    (answer) => answer.body.status === "COMPLETED",
  );
  const manifest: Manifest = await readManifest(prefix, body.id);
  const files = await download(manifest, home);
  const rows = await queryParquet(files, "SELECT id, count(*)::INT AS count FROM t GROUP BY id");
  return new Map(rows.map(({ id, count }) => [String(id), Number(count)]));
}

test("a backup under load restores every acknowledged run, thread and trace", async () => {
  const deployment = await service.createDeployment("echo");
  await service.deployed(deployment);
  const agent = `/agents/${deployment.id}`;
  const loads: Acknowledged[] = [];
  for (let n = 0; n < CLIENTS; n += 1) {
    loads.push({ thread_id: await service.createThread(agent), words: [], trace_ids: [] });
  }
  const end = new AbortController();
  const sending = Promise.all(loads.map((load) => sendLoad(agent, load, end.signal)));
  const rounds = () => Math.min(...loads.map(({ trace_ids }) => trace_ids.length));
  await until(
    "Load",
    async () => rounds(),
    (count) => count >= ROUNDS_BEFORE,
  );
  const before = structuredClone(loads);
  const to = `s3://${s3.bucket}/${prefix}`;
  const backup = [process.execPath, "scripts/backup.ts", "--to", to] as const;
  const { stdout } = await run(backup[0], backup.slice(1), {
    env: { ...environment, HEDDLE_DIR: service.dir },
  });
  expect(stdout).toMatch(/Backup of .*paused for/s);
  const during = rounds();
  await until(
    "Runs after the pause",
    async () => rounds(),
    (count) => count > during,
  );
  end.abort();
  await sending;
  await service.stop();

  const dir = join(home, "restored");
  await run(process.execPath, ["scripts/restore.ts", "--from", to], {
    env: { ...environment, HEDDLE_DIR: dir },
  });
  service = await startService({ dir, port: service.port });
  for (const { thread_id, words } of before) {
    for (const each of words) await service.answerTo(agent, thread_id, each);
  }
  await service.converse(agent, before[0]?.thread_id ?? "", "after the restore");
  await service.answerTo(agent, before[0]?.thread_id ?? "", "after the restore");
  const { body } = await service.call<{ secrets: { name: string }[] }>(
    "GET",
    `/api-host/v2/deployments/${deployment.id}`,
  );
  expect(body.secrets.map(({ name }) => name)).toEqual(["KEY"]);

  const exported = await exportProject();
  const acknowledged = before.flatMap(({ trace_ids }) => trace_ids);
  expect(acknowledged.filter((id) => exported.get(id) !== 1)).toEqual([]);
  expect([...exported.values()].every((count) => count === 1)).toBe(true);
  const sent = new Set(loads.flatMap(({ trace_ids }) => trace_ids));
  expect([...exported.keys()].filter((id) => !sent.has(id))).toEqual([]);
});
