// An S3 server on loopback, so that exports have a bucket on a machine without one. It verifies
// signatures and checksums and keeps the rules of multipart uploads; its data is plain files.
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answerBucket, answerService, makeBucket } from "./buckets.ts";
import { S3Error } from "./errors.ts";
import type { Exchange, ObjectExchange } from "./exchange.ts";
import { answerObject } from "./objects.ts";
import { authenticate, decodePath, type User } from "./signature.ts";
import { type Bucket, createBucket, openStore, type Store } from "./store.ts";
import { answerUpload, startUpload, type Uploads } from "./uploads.ts";
import { elements } from "./xml.ts";

export type S3Options = {
  dir: string;
  /** 0 or none: any free port. */
  port?: number;
  region?: string;
  /** The first owns `buckets`. */
  users: [User, ...User[]];
  buckets?: string[];
  now?: () => number;
};

type S3Server = {
  endpoint: string;
  region: string;
  /** Adds an access key. A user may have several. It is valid until `removeKey`. */
  addKey(user: User): void;
  removeKey(access_key_id: string): void;
  close(): Promise<void>;
};

type ServerState = {
  region: string;
  users: ReadonlyMap<string, User>;
  store: Store;
  uploads: Uploads;
  now(): number;
};

/** An empty name is the service, an empty key the bucket. */
type Target = { bucket_name: string; key: string };

/** `bucket.s3.localhost` is the virtual-host form. */
const DOMAIN = ".s3.localhost";
const KEY_LIMIT_BYTES = 1024;

export async function startS3(options: S3Options): Promise<S3Server> {
  const now = options.now ?? Date.now;
  const store = await openStore(options.dir);
  const [first] = options.users;
  for (const name of options.buckets ?? []) {
    if (store.buckets.has(name)) continue;
    await createBucket(store, { name, owner: first.name, created_at: now() });
  }
  const users = new Map(options.users.map((user) => [user.access_key_id, user]));
  const state: ServerState = {
    region: options.region ?? "us-east-1",
    users,
    store,
    uploads: new Map(),
    now,
  };
  const server = createServer((request, response) => {
    void serve(state, request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: state.region,
    addKey: (user) => {
      users.set(user.access_key_id, user);
    },
    removeKey: (access_key_id) => {
      users.delete(access_key_id);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function serve(state: ServerState, request: IncomingMessage, response: ServerResponse) {
  const request_id = randomBytes(8).toString("hex").toUpperCase();
  response.setHeader("x-amz-request-id", request_id);
  const target = request.url?.startsWith("/") ? request.url : "/";
  const [rawPath = "/"] = target.split("?");
  try {
    await route(state, request, response, rawPath);
  } catch (error) {
    sendError(request, response, error, { Resource: rawPath, RequestId: request_id });
  }
}

/** Parameters of the operations of this server. */
const KNOWN_PARAMETERS = new Set([
  ...["delete", "uploads", "uploadId", "partNumber", "location", "versionId"],
  ...["list-type", "prefix", "delimiter", "marker", "max-keys", "encoding-type", "fetch-owner"],
  ...["continuation-token", "start-after", "key-marker", "upload-id-marker", "max-uploads"],
  ...["part-number-marker", "max-parts"],
]);

async function route(
  state: ServerState,
  request: IncomingMessage,
  response: ServerResponse,
  rawPath: string,
): Promise<void> {
  const query = new URLSearchParams(request.url?.split("?")[1] ?? "");
  const { user, content_sha256 } = await authenticate(state, request, query);
  const { store, now } = state;
  const exchange: Exchange = {
    request,
    response,
    rawPath,
    query,
    user,
    content_sha256,
    store,
    now,
  };
  const { bucket_name, key } = parseTarget(request, rawPath);
  assertKnown(query);
  if (bucket_name === "") return answerService(exchange);
  if (key === "" && request.method === "PUT" && !hasParameters(query)) {
    return makeBucket(exchange, bucket_name);
  }
  const bucket = ownBucket(exchange, bucket_name);
  if (key === "") return answerBucket({ ...exchange, bucket }, state.uploads, state.region);
  await routeObject({ ...exchange, bucket, key }, state.uploads);
}

/** Subresources such as tags are not supported. Without this check, `PUT ?tagging` would replace the object. */
function assertKnown(query: URLSearchParams): void {
  const isKnown = (name: string) =>
    KNOWN_PARAMETERS.has(name) || /^(x-amz-|x-id$|response-)/i.test(name);
  const unknown = [...query.keys()].find((name) => !isKnown(name));
  if (unknown !== undefined) throw notImplemented(`The query parameter ${unknown}`);
}

/** Whether the query has parameters besides a signature. */
function hasParameters(query: URLSearchParams): boolean {
  return [...query.keys()].some((name) => !name.startsWith("X-Amz"));
}

function notImplemented(what: string): S3Error {
  return new S3Error("NotImplemented", `${what} is not supported`);
}

async function routeObject(exchange: ObjectExchange, uploads: Uploads): Promise<void> {
  const { request, query, key } = exchange;
  if (Buffer.byteLength(key) > KEY_LIMIT_BYTES) {
    throw new S3Error("KeyTooLongError", "Your key is too long");
  }
  const upload_id = query.get("uploadId");
  if (upload_id !== null && request.headers["x-amz-copy-source"] !== undefined) {
    throw notImplemented("A part of another object");
  }
  if (upload_id !== null) return answerUpload(exchange, uploads, upload_id);
  if (request.method === "POST" && query.has("uploads")) return startUpload(exchange, uploads);
  return answerObject(exchange);
}

function ownBucket({ store, user }: Exchange, name: string): Bucket {
  const bucket = store.buckets.get(name);
  if (!bucket) {
    const message = "The specified bucket does not exist";
    throw new S3Error("NoSuchBucket", message, { BucketName: name });
  }
  if (bucket.owner !== user.name) throw new S3Error("AccessDenied", "Access Denied");
  return bucket;
}

function parseTarget(request: IncomingMessage, rawPath: string): Target {
  const path = decodePath(rawPath).slice(1);
  const hostname = (request.headers.host ?? "").replace(/:\d+$/, "");
  if (hostname.endsWith(DOMAIN))
    return { bucket_name: hostname.slice(0, -DOMAIN.length), key: path };
  const slash = path.indexOf("/");
  if (slash < 0) return { bucket_name: path, key: "" };
  return { bucket_name: path.slice(0, slash), key: path.slice(slash + 1) };
}

function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  thrown: unknown,
  place: { Resource: string; RequestId: string },
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const error = thrown instanceof S3Error ? thrown : new S3Error("InternalError", String(thrown));
  const { code, message, details, status } = error;
  const inner = elements({ Code: code, Message: message, ...details, ...place });
  const body = Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n<Error>${inner}</Error>`);
  request.resume();
  response.writeHead(status, { "content-type": "application/xml", "content-length": body.length });
  response.end(request.method === "HEAD" ? undefined : body);
}
