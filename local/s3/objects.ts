import { randomBytes } from "node:crypto";
import { createReadStream, linkSync, openSync } from "node:fs";
import { rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { receiveBody } from "./body.ts";
import { methodNotAllowed } from "./buckets.ts";
import { S3Error } from "./errors.ts";
import {
  assertWritable,
  keptHeaders,
  matchesTag,
  type ObjectExchange,
  sendEmpty,
  sendXml,
} from "./exchange.ts";
import { decodePath } from "./signature.ts";
import { contentFile, deleteObject, putObject, type StoredObject } from "./store.ts";
import { elements } from "./xml.ts";

type Range = { start: number; end: number };

export async function answerObject(exchange: ObjectExchange): Promise<void> {
  const { request, store, bucket, key } = exchange;
  switch (request.method) {
    case "PUT":
      return request.headers["x-amz-copy-source"] ? copyObject(exchange) : writeObject(exchange);
    case "DELETE":
      deleteObject(store, bucket, key);
      return sendEmpty(exchange, 204);
    case "GET":
    case "HEAD":
      return readObject(exchange);
    default:
      throw methodNotAllowed();
  }
}

async function writeObject(exchange: ObjectExchange): Promise<void> {
  const { request, content_sha256, store, bucket, key, now } = exchange;
  assertWritable(request, bucket.objects.get(key));
  const { file, size, md5, checksums } = await receiveBody(request, content_sha256, store.drafts);
  try {
    assertWritable(request, bucket.objects.get(key));
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
  const headers = keptHeaders(request);
  putObject(store, bucket, { key, size, etag: md5, modified_at: now(), headers, checksums }, file);
  sendEmpty(exchange, 200, { etag: `"${md5}"`, ...checksums });
}

async function copyObject(exchange: ObjectExchange): Promise<void> {
  const { request, store, bucket, key, now } = exchange;
  const path = decodePath(String(request.headers["x-amz-copy-source"]).replace(/^\//, ""));
  const slash = path.indexOf("/");
  const from = store.buckets.get(path.slice(0, slash));
  if (!from) throw new S3Error("NoSuchBucket", "The specified bucket does not exist");
  if (from.owner !== exchange.user.name) throw new S3Error("AccessDenied", "Access Denied");
  const source = from.objects.get(path.slice(slash + 1));
  if (!source) throw new S3Error("NoSuchKey", "The specified key does not exist.");
  const draft = join(store.drafts, randomBytes(12).toString("hex"));
  linkSync(contentFile(store, from, source), draft);
  const isReplaced = request.headers["x-amz-metadata-directive"] === "REPLACE";
  const headers = isReplaced ? keptHeaders(request) : source.headers;
  putObject(store, bucket, { ...source, key, headers, modified_at: now() }, draft);
  const LastModified = new Date(now()).toISOString();
  sendXml(exchange, "CopyObjectResult", elements({ LastModified, ETag: `"${source.etag}"` }));
}

async function readObject(exchange: ObjectExchange): Promise<void> {
  const { request, response, query, store, bucket, key } = exchange;
  const object = bucket.objects.get(key);
  if (!object) throw new S3Error("NoSuchKey", "The specified key does not exist.", { Key: key });
  assertIfMatch(request, object);
  if (isUnchanged(request, object)) {
    return sendEmpty(exchange, 304, { etag: `"${object.etag}"` });
  }
  const range = parseRange(request.headers.range, object.size);
  const { start, end } = range ?? { start: 0, end: object.size - 1 };
  const overrides = [...query].filter(([name]) => name.startsWith("response-"));
  response.writeHead(range ? 206 : 200, {
    ...object.headers,
    ...(request.headers["x-amz-checksum-mode"] === "ENABLED" ? object.checksums : {}),
    etag: `"${object.etag}"`,
    "last-modified": new Date(object.modified_at).toUTCString(),
    "accept-ranges": "bytes",
    "content-length": Math.max(0, end - start + 1),
    ...(range ? { "content-range": `bytes ${start}-${end}/${object.size}` } : {}),
    ...Object.fromEntries(
      overrides.map(([name, value]) => [name.slice("response-".length), value]),
    ),
  });
  if (request.method === "HEAD" || object.size === 0) {
    response.end();
    return;
  }
  try {
    // Opened at once: another request may replace the object.
    const fd = openSync(contentFile(store, bucket, object), "r");
    await pipeline(createReadStream("", { fd, start, end }), response);
  } catch {
    response.destroy();
  }
}

function assertIfMatch({ headers }: IncomingMessage, object: StoredObject): void {
  const tags = headers["if-match"];
  if (tags === undefined || matchesTag(tags, object)) return;
  const message = "At least one of the pre-conditions you specified did not hold";
  throw new S3Error("PreconditionFailed", message, { Condition: "If-Match" });
}

function isUnchanged({ headers }: IncomingMessage, object: StoredObject): boolean {
  const tags = headers["if-none-match"];
  return tags !== undefined && matchesTag(tags, object);
}

/** @returns `null` for the whole object, also when the header has no valid range @throws S3Error past the end */
function parseRange(header: string | undefined, size: number): Range | null {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? "");
  const [, from = "", to = ""] = match ?? [];
  const isReversed = from !== "" && to !== "" && Number(to) < Number(from);
  if (isReversed || (from === "" && to === "")) return null;
  const range =
    from === ""
      ? { start: Math.max(0, size - Number(to)), end: size - 1 }
      : { start: Number(from), end: to === "" ? size - 1 : Math.min(size - 1, Number(to)) };
  if (range.start > range.end) {
    const message = "The requested range is not satisfiable";
    throw new S3Error("InvalidRange", message, { ActualObjectSize: size });
  }
  return range;
}
