import { env } from "cloudflare:workers";
import { createHash } from "node:crypto";
import { AwsClient } from "aws4fetch";
import { and, asc, eq, inArray } from "drizzle-orm";
import { inject, onTestFinished, vi } from "vitest";
import { openBucket } from "../../../src/exports/destinations/bucket.ts";
import { exportFolder, manifestKey, rootOf, successKey } from "../../../src/exports/keys.ts";
import { advanceExport } from "../../../src/exports/progress/advance.ts";
import { consumeFile } from "../../../src/exports/progress/consumer.ts";
import type { BulkExport } from "../../../src/exports/schema.ts";
import { bulk_export_files, bulk_exports, type ExportRow } from "../../../src/exports/table.ts";
import { database } from "../../../src/shared/context.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { toMicros } from "../../../src/shared/times.ts";
import { eventuallyTrue } from "../../support/eventually.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";
import { batch, projectId, wireRun } from "../../traces/support/runs.ts";

const PATH = "/api/v1/bulk-exports";
const FINAL = ["COMPLETED", "FAILED", "CANCELLED", "TIMEDOUT"];
const s3 = inject("s3");
const db = database(env);

export type Exporter = TestWorkspace & { destination_id: string };

/** Creates a workspace with a destination in the test server's bucket. */
export async function exporter(): Promise<Exporter> {
  const ours = await workspace();
  const { access_key_id, secret_access_key, bucket, endpoint, region } = s3;
  const response = await api(`${PATH}/destinations`, {
    key: ours.admin,
    json: {
      destination_type: "s3",
      display_name: "bucket of the tests",
      config: { bucket_name: bucket, endpoint_url: endpoint, region, prefix: crypto.randomUUID() },
      credentials: { access_key_id, secret_access_key },
    },
  });
  const { id } = await response.json<{ id: string }>();
  return { ...ours, destination_id: id };
}

type Runs = { from: string; count: number; step_ms?: number; text?: number; project_id?: string };

/** Ingests consecutive runs from a start time. Returns the id of their project. */
export async function given(ours: Exporter, runs: Runs): Promise<string> {
  const { from, count, step_ms = 1000, text = 10 } = runs;
  const name = crypto.randomUUID();
  const sent = Array.from({ length: count }, (_, n) => {
    const fields = { name: `run ${n}`, inputs: { text: randomText(text) } };
    const { session_name, ...run } = wireRun(name, fields, { at: Date.parse(from) + n * step_ms });
    return runs.project_id === undefined
      ? { session_name, ...run }
      : { session_id: runs.project_id, ...run };
  });
  for (let at = 0; at < sent.length; at += 10) {
    const response = await batch(ours.editor, sent.slice(at, at + 10));
    if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`);
  }
  return runs.project_id ?? (await projectId(ours.viewer, name)) ?? "";
}

/** Returns incompressible text. */
function randomText(bytes: number): string {
  let text = "";
  while (text.length < bytes) {
    const some = crypto.getRandomValues(new Uint8Array(Math.min(30_000, bytes)));
    text += btoa(String.fromCharCode(...some));
  }
  return text.slice(0, bytes);
}

type Fields = Partial<ExportRow> & { start_time: string; end_time: string };

/** Inserts an export without a message, so that the test decides what advances it. */
export async function ordered(
  ours: Exporter,
  session_id: string,
  { start_time, end_time, ...fields }: Fields,
): Promise<ExportRow> {
  const now = new Date().toISOString();
  const [row] = await db
    .insert(bulk_exports)
    .values({
      id: newId(),
      workspace_id: ours.workspace_id,
      bulk_export_destination_id: ours.destination_id,
      session_id,
      key_base: `${session_id}/`,
      start_us: toMicros(start_time) ?? 0,
      end_us: toMicros(end_time) ?? 0,
      format_version: "v2_beta",
      compression: "none",
      late_rows: true,
      status: "CREATED",
      created_at: now,
      updated_at: now,
      sent_at: now,
      ...fields,
    })
    .returning();
  if (!row) throw new Error("No row was made");
  return row;
}

export async function readRow(id: string): Promise<ExportRow> {
  const [row] = await db.select().from(bulk_exports).where(eq(bulk_exports.id, id));
  if (!row) throw new Error(`No export ${id}`);
  return row;
}

export function readFiles(id: string) {
  const { bulk_export_id, number } = bulk_export_files;
  return db.select().from(bulk_export_files).where(eq(bulk_export_id, id)).orderBy(asc(number));
}

type Statement = { statement: string } & Record<string, (...args: unknown[]) => unknown>;

/**
 * Holds the next attempt at a file after it has recorded its upload and before its first part. Other attempts are not
 * held.
 */
export function holdUpload(): { begun: Promise<void>; release: () => void } {
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const prototype = Object.getPrototypeOf(env.DB.prepare("SELECT 1")) as Statement;
  let isHeld = false;
  for (const name of ["run", "all", "raw"]) {
    const real = prototype[name];
    if (real === undefined) throw new Error(`A statement has no method ${name}`);
    const spy = vi.spyOn(prototype, name);
    onTestFinished(() => spy.mockRestore());
    spy.mockImplementation(async function (this: Statement, ...args) {
      const result = await real.apply(this, args);
      if (!isHeld && this.statement.startsWith(RECORD_UPLOAD)) {
        isHeld = true;
        begun.resolve();
        await released.promise;
      }
      return result;
    });
  }
  return { begun: begun.promise, release: released.resolve };
}

const RECORD_UPLOAD = 'update "bulk_export_files" set "upload_id" =';

/** Advances an export to its end, also concurrently with others. */
export async function carryOn(id: string): Promise<ExportRow> {
  await eventuallyTrue(
    async () => {
      await advanceExport(env, id);
      for (const file of await openFiles(id)) {
        await consumeFile(env, { bulk_export_file_id: file.id });
      }
      return FINAL.includes((await readRow(id)).status);
    },
    { interval: 20 },
  );
  return readRow(id);
}

function openFiles(id: string) {
  const { bulk_export_id, status } = bulk_export_files;
  return db
    .select()
    .from(bulk_export_files)
    .where(and(eq(bulk_export_id, id), inArray(status, ["WAITING", "RUNNING"])));
}

type Manifest = {
  rows: number;
  files: { key: string; rows: number; sha256: string }[];
  late_files: { key: string; rows: number; sha256: string }[];
};

/** Returns key, rows and hash of each object, checked against the manifest. */
export async function contents(row: ExportRow): Promise<[string, number, string][]> {
  const root = rootOf(row);
  const folder = exportFolder(root);
  const bytes = await readObject(manifestKey(root));
  const manifest = JSON.parse(new TextDecoder().decode(bytes)) as Manifest;
  await readObject(successKey(root));
  const found: [string, number, string][] = [];
  for (const { key, rows, sha256 } of [...manifest.files, ...manifest.late_files]) {
    const hash = createHash("sha256")
      .update(await readObject(key))
      .digest("hex");
    if (hash !== sha256) throw new Error(`${key} is not as told`);
    found.push([key.slice(folder.length), rows, sha256]);
  }
  return found;
}

export async function readObject(key: string): Promise<Uint8Array> {
  const signer = new AwsClient({
    accessKeyId: s3.access_key_id,
    secretAccessKey: s3.secret_access_key,
    region: s3.region,
    service: "s3",
  });
  const path = key.split("/").map(encodeURIComponent).join("/");
  const response = await signer.fetch(`${s3.endpoint}/${s3.bucket}/${path}`);
  if (!response.ok) throw new Error(`${key}: ${response.status} ${await response.text()}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** Returns open uploads and markers of an export that did not complete. */
export async function leftovers(row: ExportRow) {
  const { client } = await openBucket(env, row);
  const root = rootOf(row);
  const [uploads, success, manifest] = await Promise.all([
    client.listUploads(exportFolder(root)),
    client.headObject(successKey(root)),
    client.headObject(manifestKey(root)),
  ]);
  return { uploads: uploads.length, success: success !== null, manifest: manifest !== null };
}

export const NOTHING = { uploads: 0, success: false, manifest: false };

export async function call<T>(ours: TestWorkspace, path: string, method: string, json?: unknown) {
  const response = await api(`${PATH}${path}`, {
    key: ours.admin,
    method,
    ...(json === undefined ? {} : { json }),
  });
  return { status: response.status, body: await response.json<T>() };
}

export const cancel = (ours: TestWorkspace, id: string) =>
  call<BulkExport>(ours, `/${id}`, "PATCH", { status: "Cancelled" });
