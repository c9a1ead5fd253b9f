import { mapConcurrent } from "../../shared/work/chunks.ts";
import { manifestKey, type Root } from "../keys.ts";
import type { S3Client } from "../s3/client.ts";
import { HEAD_FORBIDDEN, isS3Error } from "../s3/problem.ts";
import type { FileRow } from "../table.ts";

const HEADS_AT_ONCE = 4;
const PLACEHOLDER = new TextEncoder().encode("{}\n");

type Head = Awaited<ReturnType<S3Client["headObject"]>> | "forbidden";

/**
 * Returns files whose object is missing or changed. S3 answers 403 for a missing object when the credentials may not list
 * the bucket, and for each object when they may not read. So a refused HEAD counts as a missing object only if HEAD of an
 * existing object succeeds. Otherwise the files with a refused HEAD are not checked. Each file takes a subrequest or more,
 * of which an invocation has 10,000.
 */
export async function findWrong(
  client: S3Client,
  files: readonly FileRow[],
  root: Root,
): Promise<FileRow[]> {
  const heads = await mapConcurrent(files, HEADS_AT_ONCE, ({ key }) => headOf(client, key));
  const isForbidden = heads.includes("forbidden") && !(await probeHead(client, heads, root));
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

/** Whether HEAD of an object that exists succeeds. When no file was found, writes an object that the manifest replaces. */
async function probeHead(client: S3Client, heads: readonly Head[], root: Root): Promise<boolean> {
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

/** Strips the prefix of a weak ETag: proxies make ETags weak. */
function strong(etag: string): string {
  return etag.replace(/^W\//, "");
}
