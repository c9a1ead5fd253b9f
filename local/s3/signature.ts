// Verifies AWS Signature Version 4, in the Authorization header or in a presigned URL: aws4fetch signs each request
// again. The product signs with aws4fetch too, so this finds no errors of aws4fetch. Ceph in `npm run test:s3` does.
import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { AwsV4Signer } from "aws4fetch";
import { S3Error } from "./errors.ts";

export type User = { name: string; access_key_id: string; secret_access_key: string };

type Authenticator = {
  region: string;
  users: ReadonlyMap<string, User>;
  now(): number;
};

type Signed = {
  user: User;
  /** Value of x-amz-content-sha256: a digest, `UNSIGNED-PAYLOAD` or `STREAMING-...`. */
  content_sha256: string;
};

type Claim = {
  credential: string;
  signed_headers: string;
  signature: string;
  date: string;
  content_sha256: string;
  /** `null` except in presigned URLs. */
  expires_seconds: number | null;
};

const HEADER =
  /^AWS4-HMAC-SHA256\s+Credential=([^,\s]+),\s*SignedHeaders=([^,\s]+),\s*Signature=([0-9a-f]{64})$/;
const SKEW_MS = 15 * 60 * 1000;
const WEEK_SECONDS = 604_800;

export async function authenticate(
  authenticator: Authenticator,
  request: IncomingMessage,
  query: URLSearchParams,
): Promise<Signed> {
  const claim = readClaim(request, query);
  const [access_key_id = "", day = "", region, service, end] = claim.credential.split("/");
  const user = authenticator.users.get(access_key_id);
  if (!user) {
    throw new S3Error(
      "InvalidAccessKeyId",
      "The AWS Access Key Id you provided does not exist in our records.",
    );
  }
  const scope = `${claim.date.slice(0, 8)}/${authenticator.region}/s3/aws4_request`;
  const given = [day, region, service, end].join("/");
  if (given !== scope) {
    throw new S3Error(
      "AuthorizationHeaderMalformed",
      `The authorization header is malformed; the scope '${given}' is wrong; expecting '${scope}'`,
      { Region: authenticator.region },
    );
  }
  assertTimely(claim, authenticator.now());
  assertSignedHeaders(claim, request);
  await assertSignature(claim, toSigner(claim, user, authenticator, request));
  return { user, content_sha256: claim.content_sha256 };
}

/** Encodes a path like S3: every character but the unreserved ones and the slash. */
export function encodePath(path: string): string {
  return path.split("/").map(encode).join("/");
}

export function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (cause) {
    const error = new S3Error("InvalidRequest", "The URL holds a broken percent escape.");
    error.cause = cause;
    throw error;
  }
}

function readClaim(request: IncomingMessage, query: URLSearchParams): Claim {
  const { authorization } = request.headers;
  if (authorization !== undefined) return readHeaderClaim(authorization, request);
  const signature = query.get("X-Amz-Signature");
  if (signature === null) throw new S3Error("AccessDenied", "Access Denied");
  return {
    credential: query.get("X-Amz-Credential") ?? "",
    signed_headers: query.get("X-Amz-SignedHeaders") ?? "",
    signature,
    date: query.get("X-Amz-Date") ?? "",
    content_sha256: "UNSIGNED-PAYLOAD",
    expires_seconds: Number(query.get("X-Amz-Expires")),
  };
}

function readHeaderClaim(authorization: string, request: IncomingMessage): Claim {
  const match = HEADER.exec(authorization);
  if (!match) {
    throw new S3Error("AuthorizationHeaderMalformed", "The authorization header is malformed");
  }
  const [, credential = "", signed_headers = "", signature = ""] = match;
  const content_sha256 = request.headers["x-amz-content-sha256"];
  if (content_sha256 === undefined) {
    const message = "Missing required header for this request: x-amz-content-sha256";
    throw new S3Error("InvalidRequest", message);
  }
  const date = String(request.headers["x-amz-date"] ?? "");
  return {
    credential,
    signed_headers,
    signature,
    date,
    content_sha256: String(content_sha256),
    expires_seconds: null,
  };
}

function assertTimely({ date, expires_seconds }: Claim, now: number): void {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date);
  const [year = 0, month = 0, day, hour, minute, second] = match?.slice(1).map(Number) ?? [];
  const signed_at = match ? Date.UTC(year, month - 1, day, hour, minute, second) : Number.NaN;
  if (expires_seconds === null) {
    if (Math.abs(now - signed_at) <= SKEW_MS) return;
    throw new S3Error(
      "RequestTimeTooSkewed",
      "The difference between the request time and the current time is too large.",
    );
  }
  if (!(expires_seconds >= 1 && expires_seconds <= WEEK_SECONDS)) {
    throw new S3Error("InvalidArgument", "X-Amz-Expires must be between 1 and 604800");
  }
  if (signed_at > now + SKEW_MS) throw new S3Error("AccessDenied", "Request is not yet valid");
  if (!(now <= signed_at + expires_seconds * 1000)) {
    throw new S3Error("AccessDenied", "Request has expired");
  }
}

function assertSignedHeaders({ signed_headers }: Claim, request: IncomingMessage): void {
  const signed = signed_headers.split(";");
  const missing = Object.keys(request.headers).find(
    (name) => (name === "host" || name.startsWith("x-amz-")) && !signed.includes(name),
  );
  if (missing !== undefined) {
    throw new S3Error(
      "AccessDenied",
      `There were headers present in the request which were not signed: ${missing}`,
    );
  }
}

function toSigner(
  { signed_headers, date, expires_seconds }: Claim,
  { access_key_id, secret_access_key }: User,
  { region }: Authenticator,
  { method = "", url = "/", headers }: IncomingMessage,
): AwsV4Signer {
  const target = new URL(`http://${headers.host}${url}`);
  target.searchParams.delete("X-Amz-Signature");
  const signed = signed_headers.split(";").filter((name) => name !== "host" && headers[name]);
  return new AwsV4Signer({
    ...{ method, url: target.href, region, service: "s3", datetime: date },
    headers: signed.map((name) => [name, String(headers[name])]),
    accessKeyId: access_key_id,
    secretAccessKey: secret_access_key,
    signQuery: expires_seconds !== null,
    allHeaders: true,
  });
}

async function assertSignature({ signature }: Claim, signer: AwsV4Signer): Promise<void> {
  const given = Buffer.from(signature);
  const wanted = Buffer.from(await signer.signature());
  if (given.length === wanted.length && timingSafeEqual(given, wanted)) return;
  throw new S3Error(
    "SignatureDoesNotMatch",
    "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
    { CanonicalRequest: await signer.canonicalString() },
  );
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
