import { createHash } from "node:crypto";
import { receiveText } from "./body.ts";
import { S3Error } from "./errors.ts";
import { type BucketExchange, type Exchange, sendEmpty, sendXml } from "./exchange.ts";
import { listObjects } from "./listing.ts";
import { createBucket, deleteBucket, deleteObject } from "./store.ts";
import { listUploads, type Uploads } from "./uploads.ts";
import { elements, readElements, readText } from "./xml.ts";

const DELETE_LIMIT = 1000;

export function answerService(exchange: Exchange): void {
  const { request, store, user } = exchange;
  if (request.method !== "GET") throw methodNotAllowed();
  const buckets = [...store.buckets.values()]
    .filter(({ owner }) => owner === user.name)
    .map(({ name, created_at }) => {
      const CreationDate = new Date(created_at).toISOString();
      return `<Bucket>${elements({ Name: name, CreationDate })}</Bucket>`;
    });
  const owner = `<Owner>${elements({ ID: user.name })}</Owner>`;
  sendXml(exchange, "ListAllMyBucketsResult", `${owner}<Buckets>${buckets.join("")}</Buckets>`);
}

export async function makeBucket(exchange: Exchange, name: string): Promise<void> {
  const { request, store, user, now } = exchange;
  const isName = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name) && !name.includes("..");
  if (!isName || /^\d+\.\d+\.\d+\.\d+$/.test(name)) {
    throw new S3Error("InvalidBucketName", "The specified bucket is not valid.");
  }
  await receiveText(request);
  const existing = store.buckets.get(name);
  if (existing) {
    const isOurs = existing.owner === user.name;
    throw new S3Error(
      isOurs ? "BucketAlreadyOwnedByYou" : "BucketAlreadyExists",
      "The requested bucket name is not available.",
    );
  }
  await createBucket(store, { name, owner: user.name, created_at: now() });
  sendEmpty(exchange, 200, { location: `/${name}` });
}

export async function answerBucket(
  exchange: BucketExchange,
  uploads: Uploads,
  region: string,
): Promise<void> {
  const { request, query } = exchange;
  switch (request.method) {
    case "HEAD":
      return sendEmpty(exchange, 200, { "x-amz-bucket-region": region });
    case "DELETE":
      return removeBucket(exchange, uploads);
    case "POST":
      if (!query.has("delete")) throw methodNotAllowed();
      return deleteObjects(exchange);
    case "GET":
      return readBucket(exchange, uploads, region);
    default:
      throw methodNotAllowed();
  }
}

export function methodNotAllowed(): S3Error {
  const message = "The specified method is not allowed against this resource.";
  return new S3Error("MethodNotAllowed", message);
}

function readBucket(exchange: BucketExchange, uploads: Uploads, region: string): void {
  const { query } = exchange;
  if (query.has("uploads")) {
    listUploads(exchange, uploads);
  } else if (query.has("location")) {
    sendXml(exchange, "LocationConstraint", region === "us-east-1" ? "" : region);
  } else {
    listObjects(exchange);
  }
}

async function removeBucket(exchange: BucketExchange, uploads: Uploads): Promise<void> {
  const { bucket, store } = exchange;
  const isBusy = [...uploads.values()].some((upload) => upload.bucket === bucket.name);
  if (bucket.objects.size > 0 || isBusy) {
    throw new S3Error("BucketNotEmpty", "The bucket you tried to delete is not empty");
  }
  await deleteBucket(store, bucket.name);
  sendEmpty(exchange, 204);
}

async function deleteObjects(exchange: BucketExchange): Promise<void> {
  const { request, store, bucket } = exchange;
  const text = await receiveText(request);
  const md5 = request.headers["content-md5"];
  if (md5 !== undefined && md5 !== createHash("md5").update(text).digest("base64")) {
    const message = "The Content-MD5 you specified did not match what we received.";
    throw new S3Error("BadDigest", message);
  }
  const keys = readElements(text, "Object").map((object) => readText(object, "Key") ?? "");
  if (keys.length === 0 || keys.length > DELETE_LIMIT || keys.includes("")) {
    throw new S3Error("MalformedXML", "The list of objects is empty, too long, or lacks a key.");
  }
  for (const key of keys) deleteObject(store, bucket, key);
  const isQuiet = readText(text, "Quiet")?.trim() === "true";
  const deleted = keys.map((Key) => `<Deleted>${elements({ Key })}</Deleted>`);
  sendXml(exchange, "DeleteResult", isQuiet ? "" : deleted.join(""));
}
