import { randomBytes } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { S3Problem } from "../../src/exports/s3/problem.ts";
import type { S3Target } from "../../src/exports/s3/signing.ts";
import type { Fault, Seen } from "../support/node/fault-proxy.ts";
import { client, faulty, prefix, s3 } from "./support/s3.ts";

const text = (value: string) => new TextEncoder().encode(value);
const isPut = ({ method }: Seen) => method === "PUT";
const isComplete = ({ method, path }: Seen) => method === "POST" && path.includes("uploadId=");

/** Ceph calls an upload that is gone an internal error. */
const GONE = /^(NoSuchUpload|InternalError)$/;

function s3Answer(status: number, code: string, headers: Record<string, string> = {}): Fault {
  const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>as told</Message></Error>`;
  return { answer: { status, headers: { "content-type": "application/xml", ...headers }, body } };
}

describe("an object", () => {
  test.each([
    "plain",
    "hive/export_id=1/year=2026/month=1/day=9/part-00000.parquet",
    "a b+c",
    "é世🧵",
    "100%/(x)!*'~_-.&?#;,:@$",
    "double//slash",
  ])("is written, found and deleted under the key %s", async (name) => {
    const key = `${prefix}/keys/${name}`;
    const { etag } = await client().putObject(key, text("hello"));
    expect(etag).toBe('"5d41402abc4b2a76b9719d911017c592"');
    expect(await client().headObject(key)).toMatchObject({ bytes: 5, etag });
    await client().deleteObject(key);
    expect(await client().headObject(key)).toBeNull();
    await client().deleteObject(key);
  });

  test("carries the headers of its destination and its own", async () => {
    const key = `${prefix}/headers`;
    const put_headers = { "x-amz-meta-team": "research" };
    const own = { "x-amz-meta-plan": "p1", "content-type": "application/vnd.apache.parquet" };
    await client({ put_headers }).putObject(key, text("x"), own);
    const { metadata } = (await client().headObject(key)) ?? {};
    expect(metadata).toEqual({ team: "research", plan: "p1" });
  });

  test("may be empty", async () => {
    await client().putObject(`${prefix}/empty`, new Uint8Array());
    expect(await client().headObject(`${prefix}/empty`)).toMatchObject({ bytes: 0 });
  });
});

describe("an upload", () => {
  const parts = [randomBytes(5 * 1024 ** 2), randomBytes(1000)] as const;
  const bytes = parts[0].byteLength + parts[1].byteLength;

  async function send(key: string, through = client()) {
    const { upload_id } = await through.createUpload(key, { "x-amz-meta-plan": "p1" });
    const sent = await Promise.all(
      parts.map(async (part, index) => {
        const { etag } = await through.uploadPart(key, upload_id, index + 1, part);
        return { number: index + 1, etag };
      }),
    );
    return { upload_id, sent };
  }

  test("becomes one object once it is complete", async () => {
    const key = `${prefix}/upload/whole`;
    const { upload_id, sent } = await send(key);
    expect(await client().headObject(key)).toBeNull();
    const { etag } = await client().completeUpload(key, upload_id, sent.reverse());
    const object = await client().headObject(key);
    expect(object).toMatchObject({ bytes, metadata: { plan: "p1" } });
    if (etag !== null) expect(object?.etag).toBe(etag);
  });

  test("is listed until it is aborted, and aborting it twice succeeds", async () => {
    const key = `${prefix}/upload/aborted & <gone>`;
    const { upload_id } = await send(key);
    const listed = await client().listUploads(`${prefix}/upload/aborted`);
    expect(listed).toEqual([{ key, upload_id, initiated: expect.stringMatching(/^20\d\d-/) }]);
    expect(Date.parse(listed[0]?.initiated ?? "")).not.toBeNaN();
    await client().abortUpload(key, upload_id);
    await client().abortUpload(key, upload_id);
    expect(await client().listUploads(`${prefix}/upload/aborted`)).toEqual([]);
    expect(await client().headObject(key)).toBeNull();
  });

  test("whose connection is cut within a part sends the part again", async () => {
    const proxy = await faulty();
    const isLarge = ({ path }: Seen) => path.includes("partNumber=1&");
    proxy.fail({ cut_after_bytes: 300_000, when: isLarge });
    const problems: S3Problem[] = [];
    const through = client(
      { endpoint_url: proxy.url },
      { onRetry: (problem) => problems.push(problem) },
    );
    const key = `${prefix}/upload/cut`;
    const { upload_id, sent } = await send(key, through);
    await through.completeUpload(key, upload_id, sent);
    expect(await client().headObject(key)).toMatchObject({ bytes });
    expect(problems).toMatchObject([{ code: "ConnectionFailed", status: 0, is_transient: true }]);
  });

  test("whose completion is answered 200 with an error is completed again", async () => {
    const proxy = await faulty();
    proxy.fail({ ...s3Answer(200, "InternalError"), when: isComplete });
    const through = client({ endpoint_url: proxy.url });
    const key = `${prefix}/upload/200`;
    const { upload_id, sent } = await send(key, through);
    await through.completeUpload(key, upload_id, sent);
    expect(proxy.seen.filter(isComplete)).toHaveLength(2);
    expect(await client().headObject(key)).toMatchObject({ bytes });
  });

  test.each([
    ["its size and metadata", { bytes, metadata: { plan: "p1" } }],
    ["the ETag of its parts", undefined],
  ])("whose completion's answer is lost is known by %s", async (_by, expected) => {
    const proxy = await faulty();
    proxy.fail({ lose_answer: true, when: isComplete });
    const through = client({ endpoint_url: proxy.url });
    const key = `${prefix}/upload/lost-${expected === undefined}`;
    const { upload_id, sent } = await send(key, through);
    const { etag } = await through.completeUpload(key, upload_id, sent, expected);
    expect(etag).toBe((await client().headObject(key))?.etag);
  });

  test("that is gone, with another object in its place, is an error", async () => {
    const proxy = await faulty();
    const through = client({ endpoint_url: proxy.url });
    const key = `${prefix}/upload/other`;
    const { upload_id, sent } = await send(key, through);
    await client().abortUpload(key, upload_id);
    await client().putObject(key, text("somebody else's"));
    proxy.fail({ lose_answer: true, when: isComplete });
    const completed = through.completeUpload(key, upload_id, sent, { bytes });
    await expect(completed).rejects.toMatchObject({
      problem: { code: expect.stringMatching(GONE) },
    });
  });

  test("whose completion's answer is lost, and that may not be looked for, has its own error", async () => {
    const proxy = await faulty();
    const isHead = ({ method }: Seen) => method === "HEAD";
    proxy.fail(
      { lose_answer: true, when: isComplete },
      { ...s3Answer(404, "NoSuchUpload"), when: isComplete },
      { answer: { status: 403 }, when: isHead },
    );
    const through = client({ endpoint_url: proxy.url });
    const key = `${prefix}/upload/unseen`;
    const { upload_id, sent } = await send(key, through);
    const completed = through.completeUpload(key, upload_id, sent, { bytes });
    await expect(completed).rejects.toMatchObject({ problem: { code: "NoSuchUpload" } });
  });

  test("that never was is an error", async () => {
    const part = { number: 1, etag: '"5d41402abc4b2a76b9719d911017c592"' };
    const completed = client().completeUpload(`${prefix}/upload/none`, "none", [part]);
    await expect(completed).rejects.toMatchObject({
      problem: { code: expect.stringMatching(GONE) },
    });
  });
});

describe("what cannot get better is not tried again:", () => {
  const { access_key_id, secret_access_key } = s3;
  test.each<[string, Partial<S3Target>, string[]]>([
    [
      "a wrong secret",
      { credentials: { access_key_id, secret_access_key: "wrong" } },
      ["SignatureDoesNotMatch"],
    ],
    [
      "an unknown key",
      { credentials: { access_key_id: "HEDDLEUNKNOWN00000003", secret_access_key } },
      ["InvalidAccessKeyId", "SignatureDoesNotMatch"],
    ],
    ["the keys of somebody else", { credentials: s3.other }, ["AccessDenied", "NoSuchBucket"]],
    ["a bucket that is not there", { bucket_name: "no-such-bucket-here" }, ["NoSuchBucket"]],
  ])("%s", async (_case, fields, codes) => {
    const proxy = await faulty();
    const through = client({ ...fields, endpoint_url: proxy.url });
    const error = await through.putObject(`${prefix}/refused`, text("x")).catch((e) => e);
    expect(codes).toContain(error.problem.code);
    expect(error.problem.message).not.toBe("");
    expect(error.problem.is_transient).toBe(false);
    expect(String(error)).not.toContain(secret_access_key);
    expect(proxy.seen).toHaveLength(1);
    expect(await client().headObject(`${prefix}/refused`)).toBeNull();
  });

  test("a clock that is half an hour late", async () => {
    const late = client({}, { now: () => Date.now() - 1_800_000 });
    await expect(late.putObject(`${prefix}/late`, text("x"))).rejects.toMatchObject({
      problem: { code: "RequestTimeTooSkewed", is_transient: false },
    });
  });

  test("a refused HEAD differs from a missing object", async () => {
    const stranger = client({ credentials: { access_key_id, secret_access_key: "wrong" } });
    await expect(stranger.headObject(`${prefix}/any`)).rejects.toMatchObject({
      problem: { code: "AccessDenied", status: 403 },
    });
  });
});

describe("what may get better is tried again:", () => {
  test.each<[string, Fault, Partial<S3Problem>]>([
    [
      "503 without a word",
      { answer: { status: 503 } },
      { code: "ServiceUnavailable", status: 503 },
    ],
    ["SlowDown", s3Answer(503, "SlowDown"), { code: "SlowDown", message: "as told" }],
    ["429", { answer: { status: 429 } }, { code: "TooManyRequests" }],
    ["a slow upload's 400", s3Answer(400, "RequestTimeout"), { code: "RequestTimeout" }],
    [
      "the page of a proxy",
      {
        answer: {
          status: 502,
          headers: { "content-type": "text/html" },
          body: "<html><title>Bad Gateway</title>",
        },
      },
      { code: "BadGateway", message: expect.stringContaining("Bad Gateway") },
    ],
    ["a lost answer", { lose_answer: true }, { code: "ConnectionFailed" }],
    ["no answer", { hang: true }, { code: "ConnectionFailed" }],
  ])("%s", async (_case, fault, problem) => {
    const proxy = await faulty();
    proxy.fail({ ...fault, times: 2 });
    const problems: S3Problem[] = [];
    const through = client(
      { endpoint_url: proxy.url },
      { onRetry: (met) => problems.push(met), limits: { attempt_ms: 2000 } },
    );
    await through.putObject(`${prefix}/again`, text("hello"));
    expect(problems).toMatchObject([problem, problem]);
    expect(proxy.seen).toHaveLength(3);
  });

  test("not before Retry-After", async () => {
    const proxy = await faulty();
    proxy.fail(s3Answer(503, "SlowDown", { "retry-after": "1" }));
    const timers = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => timers.mockRestore());
    await client({ endpoint_url: proxy.url }).putObject(`${prefix}/after`, text("x"));
    // Retry-After, and up to one millisecond of jitter.
    const isPause = (ms = 0) => ms >= 1000 && ms <= 1001;
    expect(timers.mock.calls.filter(([, ms]) => isPause(ms))).toHaveLength(1);
    expect(proxy.seen).toHaveLength(2);
  });

  test("but not for ever", async () => {
    const proxy = await faulty();
    proxy.fail({ ...s3Answer(503, "SlowDown"), times: 100 });
    const put = client({ endpoint_url: proxy.url }).putObject(`${prefix}/never`, text("x"));
    await expect(put).rejects.toMatchObject({ problem: { code: "SlowDown", is_transient: true } });
    expect(proxy.seen).toHaveLength(4);
  });

  test("a retry stops at its deadline whatever Retry-After is", async () => {
    const proxy = await faulty();
    proxy.fail(s3Answer(503, "SlowDown", { "retry-after": "3600" }));
    const put = client({ endpoint_url: proxy.url }).putObject(`${prefix}/hour`, text("x"));
    await expect(put).rejects.toMatchObject({ problem: { retry_after_seconds: 3600 } });
    expect(proxy.seen).toHaveLength(1);
  });
});

test.each(["in a pause", "in a request"])("a caller that gives up %s is obeyed", async (when) => {
  const proxy = await faulty();
  const stop = new AbortController();
  const slow = s3Answer(503, "SlowDown", { "retry-after": "30" });
  proxy.fail(when === "in a pause" ? slow : { hang: true });
  const through = client({ endpoint_url: proxy.url }, { signal: stop.signal });
  const put = through.putObject(`${prefix}/stopped`, text("x"));
  setTimeout(() => stop.abort(new Error("the export was cancelled")), 50);
  await expect(put).rejects.toThrow("the export was cancelled");
  await expect(through.headObject("any")).rejects.toThrow("the export was cancelled");
});

test("a wrong region is corrected once by the answer of the server", async () => {
  const proxy = await faulty();
  const through = client({ endpoint_url: proxy.url, region: "xx-wrong-9" });
  await through.putObject(`${prefix}/region`, text("x"));
  const first = proxy.seen.length;
  await through.putObject(`${prefix}/region`, text("x"));
  expect(proxy.seen.length - first).toBe(1);
  expect(first).toBeLessThanOrEqual(2);
});

test("a redirect to another host gets neither the object nor a signature", async () => {
  const [proxy, elsewhere] = [await faulty(), await faulty()];
  proxy.fail({ answer: { status: 307, headers: { location: `${elsewhere.url}/x` } } });
  const put = client({ endpoint_url: proxy.url }).putObject(`${prefix}/redirect`, text("x"));
  await expect(put).rejects.toMatchObject({ problem: { code: "TemporaryRedirect", status: 307 } });
  expect(elsewhere.seen).toEqual([]);
});

describe("a checksum", () => {
  const isSummed = ({ headers }: Seen) => headers["content-md5"] !== undefined;

  test("is deleted with every object and part", async () => {
    const proxy = await faulty();
    const through = client({ endpoint_url: proxy.url });
    await through.putObject(`${prefix}/sum`, text("x"));
    const { upload_id } = await through.createUpload(`${prefix}/sums`);
    await through.uploadPart(`${prefix}/sums`, upload_id, 1, text("x"));
    await through.abortUpload(`${prefix}/sums`, upload_id);
    expect(proxy.seen.filter(isPut)).toHaveLength(2);
    expect(proxy.seen.filter(isPut).every(isSummed)).toBe(true);
  });

  test.each([
    [501, "NotImplemented"],
    [411, "LengthRequired"],
    [400, "HeaderNotSupported"],
  ])("that a server does not take is left out from then on: %s %s", async (status, code) => {
    const proxy = await faulty();
    proxy.fail({ ...s3Answer(status, code), times: 9, when: isSummed });
    const through = client({ endpoint_url: proxy.url });
    await through.putObject(`${prefix}/plain`, text("x"));
    await through.putObject(`${prefix}/plain`, text("x"));
    expect(proxy.seen.map(isSummed)).toEqual([true, false, false]);
  });

  test("is not the reason when the request fails without it too", async () => {
    const proxy = await faulty();
    proxy.fail({ ...s3Answer(400, "InvalidRequest"), times: 2 });
    const through = client({ endpoint_url: proxy.url });
    const put = through.putObject(`${prefix}/wrong`, text("x"));
    await expect(put).rejects.toMatchObject({ problem: { code: "InvalidRequest" } });
    await through.putObject(`${prefix}/wrong`, text("x"));
    expect(proxy.seen.map(isSummed)).toEqual([true, false, true]);
  });
});

test("what a server repeats of the credentials is not part of its error", async () => {
  const proxy = await faulty();
  const secret = s3.secret_access_key;
  const body = `<Error><Code>AccessDenied</Code><Message>not ${secret}</Message></Error>`;
  proxy.fail({ answer: { status: 403, body } });
  const put = client({ endpoint_url: proxy.url }).putObject(`${prefix}/told`, text("x"));
  await expect(put).rejects.toMatchObject({ problem: { message: "not ***" } });
});
