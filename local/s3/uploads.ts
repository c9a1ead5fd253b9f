import { createHash, randomBytes } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type ReceivedBody, receiveBody, receiveText } from "./body.ts";
import { S3Error } from "./errors.ts";
import {
  assertWritable,
  type BucketExchange,
  keptHeaders,
  type ObjectExchange,
  sendEmpty,
  sendXml,
  stripTag,
} from "./exchange.ts";
import { putObject } from "./store.ts";
import { elements, readElements, readText } from "./xml.ts";

type Part = ReceivedBody & { number: number; modified_at: number };

type Upload = {
  id: string;
  bucket: string;
  key: string;
  started_at: number;
  headers: Record<string, string>;
  parts: Map<number, Part>;
};

/** Multipart uploads in progress, by their id. A restart of the server aborts them. */
export type Uploads = Map<string, Upload>;

const MIN_PART_BYTES = 5 * 1024 ** 2;
const MAX_PART_NUMBER = 10_000;

export async function startUpload(exchange: ObjectExchange, uploads: Uploads): Promise<void> {
  const { request, bucket, key, now } = exchange;
  await receiveText(request);
  const id = randomBytes(16).toString("hex");
  const headers = keptHeaders(request);
  uploads.set(id, { id, bucket: bucket.name, key, started_at: now(), headers, parts: new Map() });
  const fields = { Bucket: bucket.name, Key: key, UploadId: id };
  sendXml(exchange, "InitiateMultipartUploadResult", elements(fields));
}

/** Answers a request with an `uploadId`. */
export async function answerUpload(
  exchange: ObjectExchange,
  uploads: Uploads,
  id: string,
): Promise<void> {
  const upload = uploads.get(id);
  if (!upload || upload.bucket !== exchange.bucket.name || upload.key !== exchange.key) {
    throw noSuchUpload(id);
  }
  switch (exchange.request.method) {
    case "PUT":
      return putPart(exchange, uploads, upload);
    case "GET":
      return listParts(exchange, upload);
    case "DELETE":
      await dropUpload(uploads, upload);
      return sendEmpty(exchange, 204);
    case "POST":
      return completeUpload(exchange, uploads, upload);
    default:
      throw new S3Error("MethodNotAllowed", "An upload takes PUT, GET, POST and DELETE.");
  }
}

export function listUploads(exchange: BucketExchange, uploads: Uploads): void {
  const { bucket, query } = exchange;
  const found = [...uploads.values()]
    .filter(({ key }) => key.startsWith(query.get("prefix") ?? ""))
    .filter((upload) => upload.bucket === bucket.name)
    .map(({ key, id, started_at }) => {
      const Initiated = new Date(started_at).toISOString();
      return `<Upload>${elements({ Key: key, UploadId: id, Initiated })}</Upload>`;
    });
  const head = elements({ Bucket: bucket.name, IsTruncated: false });
  sendXml(exchange, "ListMultipartUploadsResult", head + found.join(""));
}

async function putPart(exchange: ObjectExchange, uploads: Uploads, upload: Upload): Promise<void> {
  const { request, content_sha256, query, store, now } = exchange;
  const number = Number(query.get("partNumber"));
  if (!Number.isInteger(number) || number < 1 || number > MAX_PART_NUMBER) {
    const message = "Part number must be an integer between 1 and 10000, inclusive";
    throw new S3Error("InvalidArgument", message);
  }
  const received = await receiveBody(request, content_sha256, store.drafts);
  if (!uploads.has(upload.id)) {
    await rm(received.file, { force: true });
    throw noSuchUpload(upload.id);
  }
  const replaced = upload.parts.get(number);
  upload.parts.set(number, { ...received, number, modified_at: now() });
  if (replaced) await rm(replaced.file, { force: true });
  sendEmpty(exchange, 200, { etag: `"${received.md5}"`, ...received.checksums });
}

function listParts(exchange: ObjectExchange, upload: Upload): void {
  const parts = [...upload.parts.values()]
    .sort((a, b) => a.number - b.number)
    .map(({ number, modified_at, md5, size }) => {
      const LastModified = new Date(modified_at).toISOString();
      const fields = { PartNumber: number, LastModified, ETag: `"${md5}"`, Size: size };
      return `<Part>${elements(fields)}</Part>`;
    });
  const { bucket, key, id } = upload;
  const head = elements({ Bucket: bucket, Key: key, UploadId: id, IsTruncated: false });
  sendXml(exchange, "ListPartsResult", head + parts.join(""));
}

async function completeUpload(
  exchange: ObjectExchange,
  uploads: Uploads,
  upload: Upload,
): Promise<void> {
  const { request, store, bucket, key, now } = exchange;
  const parts = chooseParts(upload, await receiveText(request));
  assertWritable(request, bucket.objects.get(key));
  const draft = join(store.drafts, randomBytes(12).toString("hex"));
  for (const { file } of parts) {
    await pipeline(createReadStream(file), createWriteStream(draft, { flags: "a" }));
  }
  try {
    if (!uploads.has(upload.id)) throw noSuchUpload(upload.id);
    assertWritable(request, bucket.objects.get(key));
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  const digests = Buffer.concat(parts.map(({ md5 }) => Buffer.from(md5, "hex")));
  const etag = `${createHash("md5").update(digests).digest("hex")}-${parts.length}`;
  const size = parts.reduce((sum, part) => sum + part.size, 0);
  const object = { key, size, etag, modified_at: now(), headers: upload.headers, checksums: {} };
  putObject(store, bucket, object, draft);
  await dropUpload(uploads, upload);
  const fields = { Bucket: bucket.name, Key: key, ETag: `"${etag}"` };
  sendXml(exchange, "CompleteMultipartUploadResult", elements(fields));
}

function chooseParts(upload: Upload, text: string): Part[] {
  const listed = readElements(text, "Part").map((part) => ({
    number: Number(readText(part, "PartNumber")),
    etag: stripTag((readText(part, "ETag") ?? "").trim()),
  }));
  if (listed.length === 0) throw new S3Error("MalformedXML", "The list of parts is empty.");
  const parts = listed.map(({ number, etag }, index) => {
    if (number <= (listed[index - 1]?.number ?? 0)) {
      throw new S3Error("InvalidPartOrder", "The list of parts was not in ascending order.");
    }
    const part = upload.parts.get(number);
    if (part?.md5 === etag) return part;
    const message = "One or more of the specified parts could not be found.";
    throw new S3Error("InvalidPart", message, { PartNumber: number });
  });
  const small = parts.slice(0, -1).find(({ size }) => size < MIN_PART_BYTES);
  if (small) {
    const message = "Your proposed upload is smaller than the minimum allowed size";
    const details = { PartNumber: small.number, MinSizeAllowed: MIN_PART_BYTES };
    throw new S3Error("EntityTooSmall", message, details);
  }
  return parts;
}

async function dropUpload(uploads: Uploads, upload: Upload): Promise<void> {
  uploads.delete(upload.id);
  for (const { file } of upload.parts.values()) await rm(file, { force: true });
}

function noSuchUpload(id: string): S3Error {
  return new S3Error(
    "NoSuchUpload",
    "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.",
    { UploadId: id },
  );
}
