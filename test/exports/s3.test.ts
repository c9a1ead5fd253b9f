import { describe, expect, onTestFinished, test, vi } from "vitest";
import { DestinationConfig } from "../../src/exports/destination-schema.ts";
import { explain } from "../../src/exports/destinations/advice.ts";
import { policyFor } from "../../src/exports/destinations/base.ts";
import { mostSpecific } from "../../src/exports/destinations/probe.ts";
import {
  type BucketAddress,
  endpointIn,
  objectUrl,
  regionHint,
  regionOf,
  stylesToTry,
} from "../../src/exports/s3/addresses.ts";
import { s3Client } from "../../src/exports/s3/client.ts";
import { type S3Problem, type S3Response, toProblem } from "../../src/exports/s3/problem.ts";
import { toPutHeaders } from "../../src/exports/s3/put-arguments.ts";
import { delayAfter } from "../../src/exports/s3/retries.ts";
import { type Call, type S3Target, sign } from "../../src/exports/s3/signing.ts";
import { putHeaders } from "../../src/exports/s3/transport.ts";
import { hasParts, quoteEtag, readUploads, toCompleteXml } from "../../src/exports/s3/uploads.ts";
import { readElements, readText, rootName } from "../../src/exports/s3/xml.ts";
import { answerHost } from "../support/answer-host.ts";

function address(fields: Partial<BucketAddress> = {}): BucketAddress {
  return { endpoint_url: null, bucket_name: "exports", addressing_style: "auto", ...fields };
}

function answer(status: number, text = "", headers: Record<string, string> = {}): S3Response {
  return { status, text, headers: new Headers(headers) };
}

function s3Error(code: string, message: string, more = ""): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message>${more}</Error>`;
}

describe("XML", () => {
  test.each([
    ["<a><b>x</b></a>", "x"],
    ['<?xml version="1.0"?><s3:a xmlns:s3="u"><s3:b s="1">x</s3:b></s3:a>', "x"],
    ["<a><bb>no</bb><b> x </b></a>", "x"],
    ["<a><b>&lt;&amp;&#34;&#x2F;&nope;</b></a>", '<&"/&nope;'],
    ["<a><b><![CDATA[1 & <2]]></b></a>", "1 & <2"],
    ["<a><b/></a>", null],
    ["<a><b></b></a>", ""],
    ["<a><b>open", null],
    ["not xml", null],
    ["<a><b>&#99999999;</b></a>", "&#99999999;"],
  ])("the text of b in %s is %j", (xml, text) => {
    expect(readText(xml, "b")).toBe(text);
  });

  test("reads all elements of a name, and unclosed ones in linear time", () => {
    expect(readElements("<l><u>1</u><v/><u>2</u></l>", "u")).toEqual(["1", "2"]);
    // Quadratic work takes an hour, linear work milliseconds.
    expect(readElements("<u>".repeat(3_000_000), "u")).toEqual([]);
    expect(readElements("<u ".repeat(3_000_000), "u")).toEqual([]);
  });

  test.each([
    ['<?xml version="1.0"?>\n  <Error><Code>x</Code></Error>', "Error"],
    ["  \n<CompleteMultipartUploadResult/>", "CompleteMultipartUploadResult"],
    ["Error", null],
    ["", null],
  ])("the root of %j is %j", (xml, name) => {
    expect(rootName(xml)).toBe(name);
  });
});

describe("an error answer", () => {
  test.each<[string, S3Response, object]>([
    [
      "of S3 is in S3's words",
      answer(403, s3Error("AccessDenied", "No &quot;way&quot;")),
      { code: "AccessDenied", message: 'No "way"', status: 403, is_transient: false },
    ],
    [
      "has a short code",
      answer(403, s3Error("A".repeat(1000), "no")),
      { code: `${"A".repeat(100)}…` },
    ],
    [
      "without a message gets S3's usual one",
      answer(404, s3Error("NoSuchBucket", "")),
      { code: "NoSuchBucket", message: "The specified bucket does not exist" },
    ],
    [
      "without a message that S3 is known for says no more",
      answer(400, s3Error("InvalidArgument", "", "<BucketName>exports</BucketName>")),
      {
        code: "InvalidArgument",
        message: "The server returned 400 without a message.",
      },
    ],
    [
      "without a body goes by its status",
      answer(403),
      { code: "AccessDenied", message: "Access Denied", is_transient: false },
    ],
    [
      "within other elements is found",
      answer(400, `<R><Errors>${s3Error("InvalidRequest", "no")}</Errors></R>`),
      { code: "InvalidRequest", message: "no" },
    ],
    [
      "of a proxy is parsed by its title",
      answer(502, "<html><head><title>502 Bad Gateway</title></head><body>x</body></html>"),
      {
        code: "BadGateway",
        message: "The server returned 502, not as an S3 error: 502 Bad Gateway",
        is_transient: true,
      },
    ],
    [
      "that is a redirect tells where to",
      answer(301, "", { location: "https://other.test/" }),
      {
        code: "PermanentRedirect",
        message: "The server returned 301, a redirect to https://other.test/.",
        is_transient: false,
      },
    ],
    [
      "is transient by its code and not by its status",
      answer(400, s3Error("RequestTimeout", "slow")),
      { is_transient: true },
    ],
    [
      "is final by its code and not by its status",
      answer(503, s3Error("NotImplemented", "no")),
      { is_transient: false },
    ],
    ...["SlowDownRead", "Busy", "XMinioBackendDown"].map((code): [string, S3Response, object] => [
      `503 with ${code} of MinIO is transient`,
      answer(503, s3Error(code, "Please reduce your request rate")),
      { code, is_transient: true },
    ]),
    [
      "507 with a code of a full disk is final",
      answer(507, s3Error("XMinioStorageFull", "full")),
      { code: "XMinioStorageFull", is_transient: false },
    ],
    [
      "with the status 200 is an error",
      answer(200, s3Error("SlowDown", "x")),
      { is_transient: true },
    ],
    [
      "has the time of the next attempt",
      answer(503, s3Error("SlowDown", "x"), { "retry-after": "7" }),
      { code: "SlowDown", retry_after_seconds: 7 },
    ],
    ["500 with nothing", answer(500), { code: "InternalError", is_transient: true }],
    ["501 with nothing", answer(501), { code: "NotImplemented", is_transient: false }],
    [
      "of a server other than S3 is not an S3 error",
      answer(404, '{"detail":"Not Found"}'),
      { code: "UnexpectedAnswer", message: expect.stringContaining("Not Found") },
    ],
    ["418 with text", answer(418, "tea"), { code: "UnexpectedAnswer", is_transient: false }],
  ])("%s", (_case, given, problem) => {
    expect(toProblem(given)).toMatchObject(problem);
  });

  test("is truncated", () => {
    const { message } = toProblem(answer(400, s3Error("X", "y".repeat(10_000))));
    expect(message).toHaveLength(501);
  });
});

describe("the delay before the next attempt", () => {
  const limits = { attempts: 4, base_ms: 100, max_delay_ms: 300, total_ms: 10_000 };
  const problem = toProblem(answer(503));

  test.each([
    [1, 1, 100],
    [2, 1, 200],
    [3, 1, 300],
    [3, 0.5, 150],
    [1, 0, 0],
    [4, 0, null],
  ])("after attempt %i with chance %f is %j", (attempt, random, delay) => {
    expect(delayAfter(limits, { attempt, problem, elapsed_ms: 0 }, random)).toBe(delay);
  });

  test("is never before Retry-After, and there is none past the end of the time", () => {
    const parsed = { ...problem, retry_after_seconds: 5 };
    const failure = { attempt: 1, problem: parsed, elapsed_ms: 0 };
    expect(delayAfter(limits, failure, 0.5)).toBe(5050);
    expect(delayAfter(limits, { ...failure, elapsed_ms: 5000 }, 0.5)).toBeNull();
  });

  test("does not exist for permanent errors", () => {
    const failure = { attempt: 1, problem: toProblem(answer(403)), elapsed_ms: 0 };
    expect(delayAfter(limits, failure, 0)).toBeNull();
  });
});

describe("an address", () => {
  test.each<[Partial<BucketAddress>, string, string]>([
    [{}, "us-east-1", "https://exports.s3.us-east-1.amazonaws.com/a/b"],
    [{}, "cn-north-1", "https://exports.s3.cn-north-1.amazonaws.com.cn/a/b"],
    [{}, "us-gov-west-1", "https://exports.s3.us-gov-west-1.amazonaws.com/a/b"],
    [{}, "eusc-de-east-1", "https://exports.s3.eusc-de-east-1.amazonaws.eu/a/b"],
    [
      { endpoint_url: "https://s3.eusc-de-east-1.amazonaws.eu" },
      "eusc-de-east-1",
      "https://exports.s3.eusc-de-east-1.amazonaws.eu/a/b",
    ],
    [{ bucket_name: "a.b" }, "us-east-1", "https://s3.us-east-1.amazonaws.com/a.b/a/b"],
    [
      { bucket_name: "a.b", addressing_style: "virtual" },
      "us-east-1",
      "https://a.b.s3.us-east-1.amazonaws.com/a/b",
    ],
    [{ addressing_style: "path" }, "us-east-1", "https://s3.us-east-1.amazonaws.com/exports/a/b"],
    [{ endpoint_url: "http://127.0.0.1:9000" }, "x", "http://127.0.0.1:9000/exports/a/b"],
    [
      { endpoint_url: "https://tos.test:8443/", addressing_style: "virtual" },
      "x",
      "https://exports.tos.test:8443/a/b",
    ],
    [
      { endpoint_url: "https://s3.eu-west-1.amazonaws.com" },
      "eu-west-1",
      "https://exports.s3.eu-west-1.amazonaws.com/a/b",
    ],
  ])("of %j in %s is %s", (fields, region, url) => {
    expect(objectUrl(address(fields), region, "a/b").href).toBe(url);
  });

  test("has the same escapes as the signature", () => {
    const key = "p=1/a b+c/é世/100%/(x)!*'/~_-.txt";
    const { pathname } = objectUrl(address(), "us-east-1", key);
    expect(pathname).toBe("/p%3D1/a%20b%2Bc/%C3%A9%E4%B8%96/100%25/%28x%29%21%2A%27/~_-.txt");
    expect(decodeURIComponent(pathname.slice(1))).toBe(key);
  });

  test.each(["a/../b", "./a", "a/."])("cannot hold the key %s", (key) => {
    expect(() => objectUrl(address(), "us-east-1", key)).toThrow(/as a segment/);
  });

  test("that is a number has no bucket before it", () => {
    const number = address({ endpoint_url: "http://127.0.0.1:9", addressing_style: "virtual" });
    expect(() => objectUrl(number, "us-east-1", "a")).toThrow(/addressing_style must be path/);
  });

  test.each<[Partial<BucketAddress>, string[]]>([
    [{}, ["virtual", "path"]],
    [{ bucket_name: "a.b" }, ["path", "virtual"]],
    [{ endpoint_url: "https://minio.acme.test" }, ["path", "virtual"]],
    [{ endpoint_url: "https://s3.eu-west-1.amazonaws.com" }, ["virtual", "path"]],
    [{ endpoint_url: "http://127.0.0.1:9000" }, ["path"]],
    [{ endpoint_url: "http://[::1]:9000" }, ["path"]],
    [{ endpoint_url: "http://minio:9000" }, ["path"]],
    [{ endpoint_url: "https://minio.acme.test", addressing_style: "virtual" }, ["virtual"]],
  ])("of %j is tried as %j", (fields, styles) => {
    expect(stylesToTry(address(fields))).toEqual(styles);
  });

  test.each([
    [null, "us-east-1"],
    ["https://s3.eu-west-1.amazonaws.com", "eu-west-1"],
    ["https://s3.amazonaws.com", "us-east-1"],
    ["https://s3.dualstack.eu-west-1.amazonaws.com", "eu-west-1"],
    ["https://account.r2.cloudflarestorage.com", "auto"],
    ["https://s3.us-west-004.backblazeb2.com", "us-west-004"],
    ["https://storage.googleapis.com", "us-east-1"],
    ["http://127.0.0.1:9000", "us-east-1"],
  ])("%s is signed for %s", (endpoint, region) => {
    expect(regionOf(endpoint)).toBe(region);
  });
});

describe("a region", () => {
  test.each<[string, S3Response, string | null]>([
    ["of a header", answer(301, "", { "x-amz-bucket-region": "eu-west-1" }), "eu-west-1"],
    [
      "that the signature should have named",
      answer(400, s3Error("AuthorizationHeaderMalformed", "x", "<Region>eu-west-1</Region>")),
      "eu-west-1",
    ],
    [
      "of an endpoint",
      answer(
        301,
        s3Error("PermanentRedirect", "x", "<Endpoint>b.s3-eu-west-1.amazonaws.com</Endpoint>"),
      ),
      "eu-west-1",
    ],
    [
      "of a temporary redirect",
      answer(307, "", { location: "https://b.s3.eu-west-1.amazonaws.com/k" }),
      "eu-west-1",
    ],
    ["that is none", answer(301, "", { "x-amz-bucket-region": "a/../b.evil.test" }), null],
    ["of a redirect elsewhere", answer(301, "", { location: "https://evil.test/" }), null],
    ["beside another answer", answer(200, "", { "x-amz-bucket-region": "eu-west-1" }), null],
  ])("%s is read as %3$j", (_case, given, region) => {
    expect(regionHint(given)).toBe(region);
  });

  test("moves an endpoint of AWS and no other", () => {
    expect(endpointIn(null, "eu-west-1")).toBeNull();
    expect(endpointIn("https://s3.us-east-1.amazonaws.com", "eu-west-1")).toBe(
      "https://s3.eu-west-1.amazonaws.com",
    );
    expect(endpointIn("https://minio.acme.test", "eu-west-1")).toBe("https://minio.acme.test");
    const alike = "https://s3.us-east-1.amazonaws.com.evil.test";
    expect(endpointIn(alike, "eu-west-1")).toBe(alike);
  });
});

test("arguments of PutObject become headers", () => {
  const { headers, issues } = toPutHeaders({
    ACL: "bucket-owner-full-control",
    ServerSideEncryption: "aws:kms",
    SSEKMSKeyId: "arn:aws:kms:x",
    BucketKeyEnabled: true,
    Tagging: "team=a&b=c",
    Metadata: { Team: "research" },
    ChecksumAlgorithm: "SHA256",
    StorageClass: null,
  });
  expect(issues).toEqual([]);
  expect(headers).toEqual({
    "x-amz-acl": "bucket-owner-full-control",
    "x-amz-server-side-encryption": "aws:kms",
    "x-amz-server-side-encryption-aws-kms-key-id": "arn:aws:kms:x",
    "x-amz-server-side-encryption-bucket-key-enabled": "true",
    "x-amz-tagging": "team=a&b=c",
    "x-amz-meta-team": "research",
  });
});

test.each([
  [{ Body: "x" }, ["Body"], "arguments: ACL, BucketKeyEnabled, "],
  [{ constructor: "x" }, ["constructor"], "arguments:"],
  [{ ACL: "a\r\nx-evil: 1" }, ["ACL"], "printable ASCII"],
  [{ ACL: { a: 1 } }, ["ACL"], "printable ASCII"],
  [{ Metadata: "x" }, ["Metadata"], "an object of strings"],
  [{ Metadata: { "a b": "x" } }, ["Metadata", "a b"], "letters, digits"],
  [{ Metadata: { a: 1 } }, ["Metadata", "a"], "printable ASCII"],
  [
    { Metadata: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`n${i}`, "x"])) },
    ["Metadata"],
    "at most 20",
  ],
])("the argument %j is refused", (kwargs, path, message) => {
  const { headers, issues } = toPutHeaders(kwargs);
  expect(headers).toEqual({});
  expect(issues).toEqual([{ path, message: expect.stringContaining(message) }]);
});

describe("an upload", () => {
  const parts = [
    { number: 2, etag: '"5d41402abc4b2a76b9719d911017c592"' },
    { number: 1, etag: '"7d793037a0760186574b0282f2f435e7"' },
  ];

  test("is completed with its parts in order", () => {
    expect(toCompleteXml(parts)).toMatch(
      /<Part><PartNumber>1<\/PartNumber><ETag>&#34;7d79.*<PartNumber>2</,
    );
  });

  test("is recognized by size and metadata, or by the ETag of its parts", () => {
    const object = { bytes: 10, etag: null, metadata: { plan: "p1" } };
    expect(hasParts(object, parts, { bytes: 10 })).toBe(true);
    expect(hasParts(object, parts, { bytes: 10, metadata: { Plan: "p1" } })).toBe(true);
    expect(hasParts(object, parts, { bytes: 10, metadata: { plan: "p2" } })).toBe(false);
    expect(hasParts(object, parts, { bytes: 11 })).toBe(false);
    expect(hasParts(object, parts, undefined)).toBe(false);
    const etag = '"0b6f4ce5d5e0d5ae2e5d5c1d3fbd2a52-2"';
    expect(hasParts({ ...object, etag }, parts, undefined)).toBe(false);
  });

  test.each([
    ['"a-2"', '"a-2"'],
    ["a-2", '"a-2"'],
    ['W/"a"', 'W/"a"'],
    ["", null],
    [null, null],
  ])("has the ETag %j as %j", (etag, tag) => {
    expect(quoteEtag(etag)).toBe(tag);
  });

  test("is listed with its key", () => {
    const upload =
      "<Upload><Key>a&amp;b</Key><UploadId>u1</UploadId><Owner><ID>o</ID></Owner><Initiated>2026-11-21T00:00:00Z</Initiated></Upload>";
    const xml = `<ListMultipartUploadsResult>${upload}</ListMultipartUploadsResult>`;
    expect(readUploads(xml)).toEqual([
      { key: "a&b", upload_id: "u1", initiated: "2026-11-21T00:00:00Z" },
    ]);
  });
});

test.each([
  ["Refused", false, "use a public one that begins with https://"],
  ["Throttling", true, "Retry later"],
  ["constructor", false, "Correct what minio.acme.test reports"],
])("a bucket that answers %s is explained", (code, is_transient, advice) => {
  const problem = { code, is_transient, message: "So.", status: 400, retry_after_seconds: null };
  const credentials = { access_key_id: "a", secret_access_key: "b" };
  const endpoint_url = "https://minio.acme.test";
  const target = { ...address({ endpoint_url }), region: null, put_headers: {}, checksums: true };
  const text = explain(problem, { ...target, credentials }, "k");
  expect(text).toContain(`Failed to validate S3 destination: ${code}: So. `);
  expect(text).toContain(advice);
});

test.each([
  ["ConnectionFailed", "s3.amazonaws.com does not respond. Retry later"],
  ["NoSuchBucket", "correct bucket_name or region. Set endpoint_url for a server other than AWS"],
  ["PermanentRedirect", "Correct region."],
  ["InvalidBucketName", "Correct bucket_name."],
])("AWS that answers %s is not a wrong endpoint_url", (code, advice) => {
  const problem = {
    ...{ code, is_transient: false, message: "So.", status: 0, retry_after_seconds: null },
  };
  const credentials = { access_key_id: "a", secret_access_key: "b" };
  const target = { ...address({ endpoint_url: null }), region: null, put_headers: {} };
  const text = explain(problem, { ...target, checksums: true, credentials }, "k");
  expect(text).toContain(advice);
  expect(text).not.toMatch(/Invalid endpoint|orrect endpoint_url|repeat it in endpoint_url/);
});

describe("a signed request", () => {
  const credentials = { access_key_id: "AKIDEXAMPLE", secret_access_key: "wJalrXUtnFEMI" };
  const plain = { region: null, put_headers: {}, checksums: true, credentials };
  const hello = new TextEncoder().encode("hello");
  const HELLO_SHA256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

  async function headersOf(fields: Partial<S3Target>, call: Partial<Call> = {}) {
    const target = { ...address(), ...plain, ...fields };
    const { endpoint_url } = target;
    const { init } = await sign(
      target,
      { method: "PUT", key: "k", body: hello, ...call },
      { endpoint_url, region: "eu-west-1", with_md5: true },
      Date.UTC(2026, 10, 21, 10),
      new Map(),
    );
    return new Headers(init.headers);
  }

  test.each<[Partial<S3Target>, string]>([
    [{}, "UNSIGNED-PAYLOAD"],
    [{ payload_signing: true }, HELLO_SHA256],
    [{ endpoint_url: "http://127.0.0.1:9" }, HELLO_SHA256],
  ])("to %j sends the body hash %s", async (fields, hash) => {
    expect((await headersOf(fields)).get("x-amz-content-sha256")).toBe(hash);
  });

  test("has the checksum, the session and the destination's headers, all signed", async () => {
    const put_headers = { "x-amz-request-payer": "requester", "x-amz-acl": "private" };
    const headers = await headersOf({
      put_headers,
      credentials: { ...credentials, session_token: "token" },
    });
    expect(headers.get("content-md5")).toBe("XUFAKrxLKna5cZ2REBfFkg==");
    expect(headers.get("x-amz-security-token")).toBe("token");
    expect(headers.get("x-amz-acl")).toBeNull();
    expect(headers.get("authorization")).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/20261121\/eu-west-1\/s3\/aws4_request, SignedHeaders=content-md5;host;x-amz-content-sha256;x-amz-date;x-amz-request-payer;x-amz-security-token, Signature=[0-9a-f]{64}$/,
    );
    expect([...headers.values()].join()).not.toContain(credentials.secret_access_key);
  });
});

describe("with two addressing styles", () => {
  const problem = (code: string, status = 400): S3Problem => ({
    ...toProblem(answer(status, s3Error(code, "x"))),
    status,
  });

  test.each([
    ["NoSuchBucket", "AccessDenied", "AccessDenied"],
    ["AccessDenied", "NoSuchBucket", "AccessDenied"],
    ["SignatureDoesNotMatch", "AccessDenied", "SignatureDoesNotMatch"],
    ["NoSuchBucket", "InvalidBucketName", "NoSuchBucket"],
  ])("that met %s and %s the most specific one is reported: %s", (one, other, reported) => {
    expect(mostSpecific([problem(one), problem(other)]).code).toBe(reported);
  });

  test("the problem with a response is reported", () => {
    const silent = { ...problem("ConnectionFailed"), status: 0 };
    expect(mostSpecific([silent, problem("NoSuchBucket")]).code).toBe("NoSuchBucket");
    expect(mostSpecific([problem("NoSuchBucket"), silent]).code).toBe("NoSuchBucket");
  });
});

test("the headers of an object replace those of its destination", () => {
  const transport = { put_headers: { "content-type": "text/plain", "x-amz-acl": "private" } };
  expect(putHeaders(transport, { "Content-Type": "application/json" })).toEqual({
    "content-type": "application/json",
    "x-amz-acl": "private",
  });
});

test("a private address is rejected before any request, without retries", async () => {
  const credentials = { access_key_id: "a", secret_access_key: "b" };
  const target = { ...address(), region: null, put_headers: {}, checksums: true, credentials };
  const client = s3Client(
    { ...target, endpoint_url: "http://169.254.169.254" },
    { policy: { allow_private: false } },
  );
  await expect(client.putObject("k", new Uint8Array())).rejects.toMatchObject({
    problem: { code: "Refused", status: 0, is_transient: false },
  });
});

test("a range that is shorter than the error of its read has that error", async () => {
  const responses = [
    new Response(s3Error("SlowDown", "Reduce your request rate"), { status: 503 }),
    new Response("0123456789", { status: 206 }),
    new Response(s3Error("NoSuchKey", "The object is gone"), { status: 404 }),
  ];
  answerHost("s3.example.com", () => responses.shift() ?? Response.error());
  onTestFinished(() => void vi.restoreAllMocks());
  const credentials = { access_key_id: "a", secret_access_key: "b" };
  const server = address({ endpoint_url: "https://s3.example.com" });
  const target = { ...server, region: null, put_headers: {}, checksums: true, credentials };
  const client = s3Client(target, { policy: { allow_private: true } });
  expect(await client.getRange("k", null, [0, 10])).toHaveLength(10);
  await expect(client.getRange("k", null, [0, 10])).rejects.toMatchObject({
    problem: { code: "NoSuchKey", status: 404 },
  });
});

test.each([
  ["eu-west-1", "arn:aws:s3:::exports"],
  ["cn-northwest-1", "arn:aws-cn:s3:::exports"],
  ["us-gov-east-1", "arn:aws-us-gov:s3:::exports"],
  ["eusc-de-east-1", "arn:aws-eusc:s3:::exports"],
])("the policy for a bucket in %s names it %s", (region, bucket) => {
  const config = DestinationConfig.parse({ bucket_name: "exports", region });
  const resources = policyFor(config).Statement.map(({ Resource }) => Resource);
  expect(resources).toEqual([`${bucket}/*`, bucket]);
});
