import { describe, expect, test } from "vitest";
import type { Destination } from "../../src/exports/destination-schema.ts";
import { request } from "../e2e/support/http.ts";
import { stack } from "../e2e/support/stack.ts";
import type { Fault, Seen } from "../support/node/fault-proxy.ts";
import { client, faulty, prefix, s3 } from "./support/s3.ts";

const PATH = "/api/v1/bulk-exports/destinations";
const { access_key_id, secret_access_key } = s3;
const credentials = { access_key_id, secret_access_key };

type Fields = { config?: object; credentials?: object };

function create<T = Destination>(fields: Fields = {}) {
  return request<T>("POST", PATH, {
    destination_type: "s3",
    display_name: "bucket of the tests",
    config: {
      endpoint_url: s3.endpoint,
      region: s3.region,
      bucket_name: s3.bucket,
      prefix: `${prefix}/exports`,
      ...fields.config,
    },
    credentials: fields.credentials ?? credentials,
  });
}

function probeKey(id: string): string {
  return `${prefix}/exports/_probe/${id}.txt`;
}

function refusal(status: number, code: string, message: string): Fault {
  const body = `<Error><Code>${code}</Code><Message>${message}</Message></Error>`;
  return { answer: { status, body }, times: 9 };
}

describe("a destination", () => {
  test("is made once its bucket took an object, which is gone again", async () => {
    const proxy = await faulty();
    const { status, body, headers } = await create({ config: { endpoint_url: proxy.url } });
    expect(status).toBe(200);
    expect(headers.get("x-heddle-warning")).toBeNull();
    const path = `/${s3.bucket}/${probeKey(body.id)}`;
    const calls = proxy.seen.map(({ method, path }) => `${method} ${decodeURIComponent(path)}`);
    expect(calls).toEqual([`PUT ${path}`, `DELETE ${path}`]);
    expect(await client().headObject(probeKey(body.id))).toBeNull();
  });

  test("is made though its object may not be deleted, and the answer names its key", async () => {
    const proxy = await faulty();
    const isDelete = ({ method }: Seen) => method === "DELETE";
    proxy.fail({ ...refusal(403, "AccessDenied", "no"), when: isDelete });
    const { status, body, headers } = await create({ config: { endpoint_url: proxy.url } });
    expect(status).toBe(200);
    expect(headers.get("x-heddle-warning")).toBe(
      `The probe object ${probeKey(body.id)} was not deleted from the bucket ${s3.bucket}: AccessDenied`,
    );
    expect(headers.get("access-control-expose-headers")).toContain("X-Heddle-Warning");
    await client().deleteObject(probeKey(body.id));
  });

  test("with a wrong region finds the right one", async () => {
    expect((await create({ config: { region: "xx-wrong-9" } })).status).toBe(200);
  });

  test("sends its arguments of PutObject, under the bucket's host name where the server needs it", async () => {
    const proxy = await faulty();
    const s3_additional_kwargs = { Metadata: { team: "research" } };
    const { status, body } = await create({
      config: { endpoint_url: proxy.url, s3_additional_kwargs, include_bucket_in_prefix: true },
    });
    expect(status).toBe(200);
    expect(proxy.seen[0]?.headers["x-amz-meta-team"]).toBe("research");
    expect(proxy.seen[0]?.headers["content-md5"]).toBeDefined();
    expect(proxy.seen[0]?.path).toBe(`/${s3.bucket}/${s3.bucket}/${probeKey(body.id)}`);
  });

  test("outlives a moment in which its server is busy", async () => {
    const proxy = await faulty();
    proxy.fail({ answer: { status: 503 } });
    expect((await create({ config: { endpoint_url: proxy.url } })).status).toBe(200);
  });
});

describe("a probe", () => {
  type Probe = {
    is_usable: boolean;
    rights: { right: string; status: string; remedy: string | null }[];
    leftovers: string[];
  };
  const open = (endpoint_url: string) =>
    request<Probe>("POST", `${PATH}/probe`, {
      config: { endpoint_url, region: s3.region, bucket_name: s3.bucket, prefix },
      credentials,
    });

  test.each<[string, (call: Seen) => boolean, number]>([
    ["s3:ListBucketMultipartUploads", ({ method }) => method === "GET", 0],
    ["s3:AbortMultipartUpload", (call) => call.method === "DELETE" && call.path.includes("?"), 1],
    ["s3:GetObject", ({ method }) => method === "HEAD", 0],
    ["s3:DeleteObject", (call) => call.method === "DELETE" && !call.path.includes("?"), 1],
  ])("finds that %s is missing, and what it leaves behind", async (right, when, left) => {
    const proxy = await faulty();
    proxy.fail({ ...refusal(403, "AccessDenied", "no"), when });
    const { status, body } = await open(proxy.url);
    expect([status, body.is_usable, body.leftovers.length]).toEqual([200, true, left]);
    const refused = body.rights.filter((one) => one.status !== "granted");
    expect(refused).toEqual([
      expect.objectContaining({ right, status: "refused", remedy: expect.stringContaining(right) }),
    ]);
    for (const key of body.leftovers) await client().deleteObject(key.replace(/ .*/, ""));
    for (const { key, upload_id } of await client().listUploads(prefix)) {
      await client().abortUpload(key, upload_id);
    }
  });

  test("leaves nothing in the bucket", async () => {
    const proxy = await faulty();
    const { body } = await open(proxy.url);
    expect(body.leftovers).toEqual([]);
    const keys = proxy.seen.map(({ path }) => decodeURIComponent(path.split("?")[0] ?? ""));
    for (const key of new Set(keys.filter((path) => path.includes("_probe")))) {
      expect(await client().headObject(key.replace(`/${s3.bucket}/`, ""))).toBeNull();
    }
    expect(await client().listUploads(prefix)).toEqual([]);
  });
});

describe("a refusal of the bucket is passed on with a remedy:", () => {
  test.each<[string, Fields, RegExp, RegExp]>([
    [
      "a wrong secret",
      { credentials: { access_key_id, secret_access_key: "wrong" } },
      /: SignatureDoesNotMatch: \w/,
      /Correct secret_access_key/,
    ],
    [
      "an unknown key",
      { credentials: { access_key_id: "HEDDLEUNKNOWN00000003", secret_access_key } },
      /: (InvalidAccessKeyId|SignatureDoesNotMatch): \w/,
      /The Key ID you provided does not exist|Correct secret_access_key/,
    ],
    [
      "somebody else's keys",
      { credentials: s3.other },
      /: (AccessDenied|NoSuchBucket): \w/,
      /Access denied: the credentials must be allowed s3:PutObject|Bucket is not valid/,
    ],
    [
      "a bucket that is not there",
      { config: { bucket_name: "no-such-bucket-here" } },
      /: NoSuchBucket: \w/,
      /Bucket is not valid: "no-such-bucket-here" does not exist/,
    ],
    [
      "a server that is not there",
      { config: { endpoint_url: "http://127.0.0.1:1" } },
      /: ConnectionFailed: \w/,
      /Invalid endpoint: 127\.0\.0\.1:1 does not respond/,
    ],
    [
      "a server that is none of S3's",
      { config: { endpoint_url: stack.git.url } },
      /: UnexpectedAnswer: The server returned 404/,
      /Invalid endpoint/,
    ],
  ])("%s", async (_case, fields, words, advice) => {
    const { status, body } = await create<{ detail: string }>(fields);
    expect(status).toBe(400);
    expect(body.detail).toMatch(/^Failed to validate S3 destination: /);
    expect(body.detail).toMatch(words);
    expect(body.detail).toMatch(advice);
    expect(body.detail).not.toContain(secret_access_key);
  });

  test.each<[string, Fault, string, string]>([
    [
      "rules of Object Lock",
      refusal(
        400,
        "InvalidRequest",
        "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters",
      ),
      "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters. ",
      "The server refused the request.",
    ],
    [
      "a key of KMS",
      refusal(
        403,
        "AccessDenied",
        "User: arn:aws:iam::1:user/x is not authorized to perform: kms:GenerateDataKey on resource: y",
      ),
      "not authorized to perform: kms:GenerateDataKey",
      "must be allowed kms:GenerateDataKey and kms:Decrypt",
    ],
    [
      "a name that is none",
      refusal(400, "InvalidBucketName", "The specified bucket is not valid."),
      "InvalidBucketName: The specified bucket is not valid. ",
      "do not repeat it in endpoint_url",
    ],
    ["a quota", refusal(403, "QuotaExceeded", ""), "QuotaExceeded: The quota", "Delete objects"],
    ["a storm", refusal(503, "SlowDown", "Slow down."), "SlowDown: Slow down. ", "Retry later"],
    [
      "a bucket elsewhere",
      { answer: { status: 301, headers: { location: "https://elsewhere.test/" } }, times: 9 },
      "PermanentRedirect: The server returned 301, a redirect to https://elsewhere.test/",
      "Correct region",
    ],
    ["a code of its own", refusal(400, "Odd", "So it is."), "Odd: So it is. ", "Correct what"],
  ])("%s", async (_case, fault, words, advice) => {
    const proxy = await faulty();
    proxy.fail(fault);
    const config = { endpoint_url: proxy.url };
    const { status, body } = await create<{ detail: string }>({ config });
    expect(status).toBe(400);
    expect(body.detail).toContain(words);
    expect(body.detail).toContain(advice);
  });

  test("and nothing of it is kept", async () => {
    const before = await request<Destination[]>("GET", PATH);
    await create({ credentials: s3.other });
    const after = await request<Destination[]>("GET", PATH);
    expect(after.body).toEqual(before.body);
  });
});

describe("new credentials", () => {
  test("are stored after a probe with them succeeds", async () => {
    const { body: made } = await create();
    const { status, body } = await request<Destination>("PATCH", `${PATH}/${made.id}`, {
      credentials,
    });
    expect(status).toBe(200);
    expect(body).toEqual({ ...made, updated_at: expect.any(String) });
    expect(body.updated_at >= made.updated_at).toBe(true);
  });

  test("that were revoked change nothing", async () => {
    const { body: made } = await create();
    const revoked = { access_key_id: "HEDDLEREVOKED00000004", secret_access_key: "gone" };
    const refused = await request<{ detail: string }>("PATCH", `${PATH}/${made.id}`, {
      credentials: revoked,
    });
    expect(refused.status).toBe(400);
    expect(refused.body.detail).toMatch(/^Failed to validate S3 destination: /);
    const { body } = await request<Destination>("GET", `${PATH}/${made.id}`);
    expect(body).toEqual(made);
  });
});

test("a destination is deleted, and what is in its bucket stays", async () => {
  const { body: made } = await create();
  await client().putObject(`${prefix}/exports/kept`, new Uint8Array([1]));
  const removed = await request("DELETE", `${PATH}/${made.id}`);
  expect(removed.status).toBe(204);
  expect((await request("GET", `${PATH}/${made.id}`)).status).toBe(404);
  expect(await client().headObject(`${prefix}/exports/kept`)).toMatchObject({ bytes: 1 });
});
