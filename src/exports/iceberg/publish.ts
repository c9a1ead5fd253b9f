import { sha256Hex } from "../../shared/crypto/crypto.ts";
import { AppError } from "../../shared/errors.ts";
import { log } from "../../shared/log.ts";
import type { S3Client } from "../s3/client.ts";
import { HEAD_FORBIDDEN, isS3Error } from "../s3/problem.ts";
import type { TableRow } from "../table.ts";
import { isDeletable, metadataFile } from "./metadata.ts";
import { changeTable, leaseLost } from "./table-lease.ts";

export type TableBucket = { client: S3Client; bucket_url: string };

/**
 * Writes the table's newest metadata to the bucket, then `version-hint.text`, by which readers find it. The row has the
 * content, so a repeated attempt writes the same bytes.
 */
export async function publishTable(env: Env, table: TableRow, bucket: TableBucket): Promise<void> {
  const { version, published_version, metadata } = table;
  if (metadata === null || published_version === version) return;
  const { client, bucket_url } = bucket;
  const key = metadataFile(metadata.location, version).slice(bucket_url.length + 1);
  await putMetadata(client, key, JSON.stringify(metadata));
  const hint = `${metadata.location}/metadata/version-hint.text`.slice(bucket_url.length + 1);
  await client.putObject(hint, encode(`${version}`), { "Content-Type": "text/plain" });
  await deleteUnused(table, bucket);
  if (!(await changeTable(env, table, { published_version: version }))) throw leaseLost(table);
}

/** @throws AppError when the object exists with other content: only one writer may write to a table */
async function putMetadata(client: S3Client, key: string, text: string): Promise<void> {
  const sha256 = sha256Hex(text);
  const headers = { "Content-Type": "application/json", "x-amz-meta-sha256": sha256 };
  if ((await client.putNewObject(key, encode(text), headers)) === "written") return;
  const found = await headOf(client, key);
  if (found === "unknown" || found?.metadata.sha256 === sha256) return;
  throw new AppError(
    "invalid_request",
    `${key} was written by another program: only Heddle may write to the table. Delete the object, then retry the export.`,
  );
}

/**
 * @returns `"unknown"` without permission to read, and for a server without HEAD. The object then counts as the object of
 * an earlier attempt whose response was lost
 */
async function headOf(client: S3Client, key: string) {
  try {
    return await client.headObject(key);
  } catch (error) {
    if (isS3Error(error, HEAD_FORBIDDEN)) return "unknown";
    throw error;
  }
}

/** Logs failures, and does not repeat a deletion later: the files that stay are small, and no reader finds them. */
async function deleteUnused(table: TableRow, { client, bucket_url }: TableBucket): Promise<void> {
  const { metadata, unused_files, schedule_id } = table;
  if (metadata === null) return;
  for (const { url } of unused_files.filter(isDeletable(metadata))) {
    try {
      await client.deleteObject(url.slice(bucket_url.length + 1));
    } catch (error) {
      log.warn("table_file_not_deleted", { schedule_id, url, reason: String(error) });
    }
  }
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
