/** Arguments of PutObject that a destination may set, with their headers. */
const HEADERS = {
  ACL: "x-amz-acl",
  BucketKeyEnabled: "x-amz-server-side-encryption-bucket-key-enabled",
  CacheControl: "cache-control",
  ContentDisposition: "content-disposition",
  ContentLanguage: "content-language",
  ContentType: "content-type",
  ExpectedBucketOwner: "x-amz-expected-bucket-owner",
  GrantFullControl: "x-amz-grant-full-control",
  GrantRead: "x-amz-grant-read",
  GrantReadACP: "x-amz-grant-read-acp",
  GrantWriteACP: "x-amz-grant-write-acp",
  ObjectLockLegalHoldStatus: "x-amz-object-lock-legal-hold",
  ObjectLockMode: "x-amz-object-lock-mode",
  ObjectLockRetainUntilDate: "x-amz-object-lock-retain-until-date",
  RequestPayer: "x-amz-request-payer",
  SSEKMSEncryptionContext: "x-amz-server-side-encryption-context",
  SSEKMSKeyId: "x-amz-server-side-encryption-aws-kms-key-id",
  ServerSideEncryption: "x-amz-server-side-encryption",
  StorageClass: "x-amz-storage-class",
  Tagging: "x-amz-tagging",
  WebsiteRedirectLocation: "x-amz-website-redirect-location",
} as const;

/** Accepted without effect: objects and parts are sent with Content-MD5, unless the server refuses it. */
const NEEDLESS = "ChecksumAlgorithm";
const METADATA = "Metadata";
const NAMES = [...Object.keys(HEADERS), METADATA, NEEDLESS].sort();

/** Problem with an argument, and its path. */
type ArgumentIssue = { path: string[]; message: string };

const VALUE = /^[\x20-\x7e]{1,1024}$/;
const TOKEN = /^[A-Za-z0-9_-]{1,128}$/;
const NAME_RULE = "must have a name of 1 to 128 letters, digits, hyphens and _";
const MAX_METADATA = 20;

export function toPutHeaders(kwargs: Record<string, unknown>): {
  headers: Record<string, string>;
  issues: ArgumentIssue[];
} {
  const headers: Record<string, string> = {};
  const issues: ArgumentIssue[] = [];
  for (const [name, value] of Object.entries(kwargs)) {
    if (value === null || name === NEEDLESS) continue;
    issues.push(...(name === METADATA ? addMetadata : addArgument)(headers, value, name));
  }
  return { headers, issues };
}

function addArgument(
  headers: Record<string, string>,
  value: unknown,
  name: string,
): ArgumentIssue[] {
  if (!isKnown(name)) {
    const message = `is not supported; arguments: ${NAMES.join(", ")}`;
    return [{ path: [name], message }];
  }
  const text = toText(value);
  if (text === null) return [notText([name])];
  headers[HEADERS[name]] = text;
  return [];
}

function addMetadata(headers: Record<string, string>, value: unknown): ArgumentIssue[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return [{ path: [METADATA], message: "must be an object of strings" }];
  }
  const entries = Object.entries(value);
  if (entries.length > MAX_METADATA) {
    return [{ path: [METADATA], message: `must have at most ${MAX_METADATA} names` }];
  }
  const issues: ArgumentIssue[] = [];
  for (const [name, content] of entries) {
    const text = typeof content === "string" ? toText(content) : null;
    if (TOKEN.test(name) && text !== null) headers[`x-amz-meta-${name.toLowerCase()}`] = text;
    else issues.push(metadataIssue(name));
  }
  return issues;
}

function metadataIssue(name: string): ArgumentIssue {
  const path = [METADATA, name];
  return TOKEN.test(name) ? notText(path) : { path, message: NAME_RULE };
}

function isKnown(name: string): name is keyof typeof HEADERS {
  return Object.hasOwn(HEADERS, name);
}

function toText(value: unknown): string | null {
  if (typeof value === "boolean") return String(value);
  return typeof value === "string" && VALUE.test(value) ? value : null;
}

function notText(path: string[]): ArgumentIssue {
  return { path, message: "must be printable ASCII text of at most 1024 characters" };
}
