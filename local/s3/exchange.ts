import type { IncomingMessage, ServerResponse } from "node:http";
import { S3Error } from "./errors.ts";
import type { User } from "./signature.ts";
import type { Bucket, Store, StoredObject } from "./store.ts";
import { xmlDocument } from "./xml.ts";

/** An authenticated request and its response. */
export type Exchange = {
  request: IncomingMessage;
  response: ServerResponse;
  rawPath: string;
  query: URLSearchParams;
  user: User;
  content_sha256: string;
  store: Store;
  now(): number;
};

export type BucketExchange = Exchange & { bucket: Bucket };
export type ObjectExchange = BucketExchange & { key: string };

const KEPT_HEADERS = new Set([
  "content-type",
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
  "expires",
]);

export function sendXml({ request, response }: Exchange, name: string, inner: string): void {
  const body = Buffer.from(xmlDocument(name, inner));
  response.writeHead(200, { "content-type": "application/xml", "content-length": body.length });
  response.end(request.method === "HEAD" ? undefined : body);
}

export function sendEmpty(
  { response }: Exchange,
  status: number,
  headers: Record<string, string> = {},
): void {
  const length = status === 204 || status === 304 ? {} : { "content-length": "0" };
  response.writeHead(status, { ...length, ...headers }).end();
}

/** Request headers that are kept with the object. */
export function keptHeaders({ headers }: IncomingMessage): Record<string, string> {
  const kept: Record<string, string> = { "content-type": "binary/octet-stream" };
  for (const [name, value] of Object.entries(headers)) {
    if (KEPT_HEADERS.has(name) || name.startsWith("x-amz-meta-")) kept[name] = String(value);
  }
  const encodings = kept["content-encoding"]?.split(",").map((each) => each.trim()) ?? [];
  const encoding = encodings.filter((each) => each !== "aws-chunked").join(",");
  delete kept["content-encoding"];
  return encoding === "" ? kept : { ...kept, "content-encoding": encoding };
}

export function stripTag(etag: string): string {
  return etag.trim().replace(/^W\//, "").replace(/^"|"$/g, "");
}

export function matchesTag(header: string, object: StoredObject | undefined): boolean {
  return header
    .split(",")
    .some((tag) => object !== undefined && (tag.trim() === "*" || stripTag(tag) === object.etag));
}

/** Checks If-Match and If-None-Match of a write against the stored object. @throws S3Error */
export function assertWritable({ headers }: IncomingMessage, object?: StoredObject): void {
  const refuse = (Condition: string) => {
    const message = "At least one of the pre-conditions you specified did not hold";
    throw new S3Error("PreconditionFailed", message, { Condition });
  };
  const ifNoneMatch = headers["if-none-match"];
  if (ifNoneMatch !== undefined && ifNoneMatch !== "*") {
    throw new S3Error("NotImplemented", "If-None-Match on writes takes *");
  }
  if (ifNoneMatch !== undefined && object) refuse("If-None-Match");
  const ifMatch = headers["if-match"];
  if (ifMatch === undefined) return;
  if (!object) throw new S3Error("NoSuchKey", "The specified key does not exist.");
  if (!matchesTag(ifMatch, object)) refuse("If-Match");
}
