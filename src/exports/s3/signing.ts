import { createHash } from "node:crypto";
import { AwsV4Signer } from "aws4fetch";
import { type BucketAddress, objectUrl } from "./addresses.ts";

export type S3Target = BucketAddress & {
  region: string | null;
  /** Headers of every object, from `toPutHeaders`. */
  put_headers: Record<string, string>;
  /** Whether objects and parts are sent with Content-MD5. */
  checksums: boolean;
  /** Whether bodies are signed over https too. Over http they are always signed. */
  payload_signing?: boolean;
  credentials: { access_key_id: string; secret_access_key: string; session_token?: string };
};

/** MD5 in base64, SHA-256 in hex. */
export type BodyDigests = { md5?: string; sha256?: string };

export type Call = {
  method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Empty for the bucket. */
  key: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Uint8Array;
  /** Known digests of the body, which are not computed again. Signing adds the digests that it computes. */
  digests?: BodyDigests;
  /** Expected size of a success, which is read as bytes. Without it, a success is read as text. */
  max_bytes?: number;
};

/** Adaptations that a server demanded. */
export type Adaptation = { endpoint_url: string | null; region: string; with_md5: boolean };

export type Keys = Map<string, ArrayBuffer>;

/** Headers of `put_headers` that every request needs, not only writes. */
const EVERYWHERE = ["x-amz-expected-bucket-owner", "x-amz-request-payer"];

/** Adds the digests that it computes to `call.digests`. `keys` caches derived keys: a derivation takes four HMACs. */
export async function sign(
  target: S3Target,
  call: Call,
  { endpoint_url, region, with_md5 }: Adaptation,
  now: number,
  keys: Keys,
): Promise<{ url: string; init: RequestInit }> {
  const { access_key_id, secret_access_key, session_token } = target.credentials;
  const { method, body, digests = {} } = call;
  const url = objectUrl({ ...target, endpoint_url }, region, call.key, call.query);
  const isBodySigned = url.protocol === "http:" || target.payload_signing === true;
  if (with_md5) digests.md5 ??= digest("md5", body).toString("base64");
  if (isBodySigned) digests.sha256 ??= digest("sha256", body).toString("hex");
  const common = Object.entries(target.put_headers).filter(([name]) => EVERYWHERE.includes(name));
  const { headers } = await new AwsV4Signer({
    method,
    url: url.href,
    headers: {
      ...Object.fromEntries(common),
      ...call.headers,
      ...(with_md5 && digests.md5 ? { "content-md5": digests.md5 } : {}),
      "x-amz-content-sha256": (isBodySigned && digests.sha256) || "UNSIGNED-PAYLOAD",
    },
    accessKeyId: access_key_id,
    secretAccessKey: secret_access_key,
    ...(session_token === undefined ? {} : { sessionToken: session_token }),
    service: "s3",
    region,
    cache: keys,
    datetime: new Date(now).toISOString().replace(/[:-]|\.\d{3}/g, ""),
  }).sign();
  return {
    url: url.href,
    init: { method, headers, ...(body === undefined ? {} : { body: toView(body) }) },
  };
}

function digest(algorithm: "md5" | "sha256", body: Uint8Array = new Uint8Array()): Buffer {
  return createHash(algorithm).update(body).digest();
}

/** Narrows the type: this code never uses shared memory. */
function toView(body: Uint8Array): Uint8Array<ArrayBuffer> {
  return body as Uint8Array<ArrayBuffer>;
}
