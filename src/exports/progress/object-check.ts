import { mapConcurrent } from "../../shared/work/chunks.ts";
import { manifestKey, type Root } from "../keys.ts";
import type { S3Client } from "../s3/client.ts";
import { HEAD_FORBIDDEN, isS3Error } from "../s3/problem.ts";
import type { FileRow } from "../table.ts";

const HEADS_AT_ONCE = 4;
const PLACEHOLDER = new TextEncoder().encode("{}\n");

type Head = Awaited<ReturnType<S3Client["headObject"]>> | "forbidden";

/**
 * Returns files whose object is missing or changed. S3 answers 403 for missing objects too when the credentials may not
 * list the bucket. A 403 is trusted only when HEAD of an existing object answers it as well.
 */
export async function findWrong(
  client: S3Client,
  files: readonly FileRow[],
  root: Root,
): Promise<FileRow[]> {
  const heads = await mapConcurrent(files, HEADS_AT_ONCE, ({ key }) => headOf(client, key));
  const isForbidden = heads.includes("forbidden") && !(await mayHead(client, heads, root));
  return files.filter((file, n) => {
    const head = heads[n] ?? null;
    return head === "forbidden" ? !isForbidden : !isAsWritten(file, head);
  });
}

async function headOf(client: S3Client, key: string): Promise<Head> {
  try {
    return await client.headObject(key);
  } catch (error) {
    if (isS3Error(error, HEAD_FORBIDDEN)) return "forbidden";
    throw error;
  }
}

/** Without a file that was found, writes an object that the manifest replaces. */
async function mayHead(client: S3Client, heads: readonly Head[], root: Root): Promise<boolean> {
  if (heads.some(isObject)) return true;
  const key = manifestKey(root);
  // Another attempt may have finished, and written the manifest.
  await client.putNewObject(key, PLACEHOLDER, {});
  return isObject(await headOf(client, key));
}

function isObject(head: Head): boolean {
  return head !== null && head !== "forbidden";
}

function isAsWritten({ bytes_written, etag }: FileRow, found: Exclude<Head, "forbidden">): boolean {
  if (found === null || found.bytes !== bytes_written) return false;
  return etag === null || found.etag === null || strong(etag) === strong(found.etag);
}

/** Strips the prefix that proxies add to weak ETags. */
function strong(etag: string): string {
  return etag.replace(/^W\//, "");
}
