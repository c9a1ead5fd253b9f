import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AwsClient } from "aws4fetch";
import { inject } from "vitest";
import type { BulkExportRun } from "../../../src/exports/bulk-exports/run-schema.ts";
import type { BulkExport } from "../../../src/exports/schema.ts";
import { request } from "./http.ts";
import { until } from "./stack.ts";

export type Credentials = { access_key_id: string; secret_access_key: string };
export type Manifest = {
  rows: number;
  bytes: number;
  files: ManifestFile[];
  late_files: ManifestFile[];
  watermarks: Record<string, number>;
  watermark: string | null;
  schema: { name: string; type: string }[];
  statements: { duckdb: string; athena: string };
};
type ManifestFile = {
  key: string;
  rows: number;
  bytes: number;
  sha256: string;
  min_start_time: string | null;
  max_start_time: string | null;
};

/** The server of this test run; which one is the project's affair. */
const s3 = inject("s3");
const FINAL = ["COMPLETED", "FAILED", "CANCELLED", "TIMEDOUT"];

export function bucketClient(credentials: Credentials = s3): AwsClient {
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = credentials;
  return new AwsClient({ accessKeyId, secretAccessKey, region: s3.region, service: "s3" });
}

export async function createDestination(
  prefix: string,
  {
    endpoint = s3.endpoint,
    bucket = s3.bucket,
    credentials = s3 as Credentials,
    headers = {} as Record<string, string>,
  } = {},
): Promise<string> {
  const { access_key_id, secret_access_key } = credentials;
  const { status, body } = await request<{ id: string }>(
    "POST",
    "/api/v1/bulk-exports/destinations",
    {
      destination_type: "s3",
      display_name: `test ${prefix}`,
      config: { bucket_name: bucket, prefix, region: s3.region, endpoint_url: endpoint },
      credentials: { access_key_id, secret_access_key },
    },
    headers,
  );
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body.id;
}

export async function createExport(
  order: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<BulkExport> {
  const { status, body } = await request<BulkExport>(
    "POST",
    "/api/v1/bulk-exports",
    { format_version: "v2_beta", ...order },
    headers,
  );
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}

export async function getExport(id: string): Promise<BulkExport> {
  return (await request<BulkExport>("GET", `/api/v1/bulk-exports/${id}`)).body;
}

export async function listExportRuns(id: string): Promise<BulkExportRun[]> {
  return (await request<BulkExportRun[]>("GET", `/api/v1/bulk-exports/${id}/runs`)).body;
}

export function ended(id: string): Promise<BulkExport> {
  const isEnded = ({ status }: BulkExport) => FINAL.includes(status);
  return until(`the end of export ${id}`, () => getExport(id), isEnded);
}

export async function listKeys(prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for (let token = ""; ; ) {
    const query = new URLSearchParams({ "list-type": "2", prefix });
    if (token !== "") query.set("continuation-token", token);
    const answer = await bucketClient().fetch(`${s3.endpoint}/${s3.bucket}/?${query}`);
    const text = await answer.text();
    keys.push(...[...text.matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key]) => key ?? ""));
    token = /<NextContinuationToken>(.*?)</.exec(text)?.[1] ?? "";
    if (token === "") return keys;
  }
}

/** Waits for aborted uploads: at the end of an export or by the sweep after a kill. */
export async function noneOpen(prefix: string): Promise<void> {
  await until(
    "the end of all uploads",
    () => openUploads(prefix),
    (open) => open.length === 0,
  );
}

async function openUploads(prefix: string): Promise<string[]> {
  const url = `${s3.endpoint}/${s3.bucket}/?uploads&prefix=${encodeURIComponent(prefix)}`;
  const text = await (await bucketClient().fetch(url)).text();
  return [...text.matchAll(/<UploadId>(.*?)<\/UploadId>/g)].map(([, id]) => id ?? "");
}

export async function getObject(key: string): Promise<Uint8Array> {
  const path = key.split("/").map(encodeURIComponent).join("/");
  const answer = await bucketClient().fetch(`${s3.endpoint}/${s3.bucket}/${path}`);
  if (!answer.ok) throw new Error(`${key}: ${answer.status} ${await answer.text()}`);
  return new Uint8Array(await answer.arrayBuffer());
}

/** Key, rows and hash of each file of an export. */
export async function contents(
  prefix: string,
  export_id: string,
): Promise<{ key: string; rows: number; sha256: string }[]> {
  const folder = `${prefix}/export_id=${export_id}/`;
  await getObject(`${prefix}/_exports/${export_id}/_SUCCESS`);
  const { files, late_files } = await readManifest(prefix, export_id);
  return [...files, ...late_files].map(({ key, rows, sha256 }) => ({
    key: key.slice(folder.length),
    rows,
    sha256,
  }));
}

export async function readManifest(prefix: string, export_id: string): Promise<Manifest> {
  const bytes = await getObject(`${prefix}/_exports/${export_id}/_manifest.json`);
  return JSON.parse(new TextDecoder().decode(bytes)) as Manifest;
}

/** Downloads the files. @throws when one differs from the manifest */
export async function download(manifest: Manifest, folder: string): Promise<string[]> {
  const paths: string[] = [];
  for (const { key, bytes, sha256 } of [...manifest.files, ...manifest.late_files]) {
    const data = await getObject(key);
    const found = createHash("sha256").update(data).digest("hex");
    if (found !== sha256 || data.byteLength !== bytes) throw new Error(`${key} is not as told`);
    const path = join(folder, key);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, data);
    paths.push(path);
  }
  return paths;
}
