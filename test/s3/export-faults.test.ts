import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  bucketClient,
  contents,
  createDestination,
  createExport,
  download,
  ended,
  getExport,
  listKeys,
  noneOpen,
  readManifest,
} from "../e2e/support/exports.ts";
import { request } from "../e2e/support/http.ts";
import { queryParquet } from "../e2e/support/parquet.ts";
import { killWorker, until } from "../e2e/support/stack.ts";
import { seedRuns } from "../e2e/support/trace-runs.ts";
import type { Fault, FaultProxy, Seen } from "../support/node/fault-proxy.ts";
import { passingKeys } from "./support/keys.ts";
import { client, faulty, prefix, s3 } from "./support/s3.ts";

const DAYS = 10;
const RUNS_A_DAY = 90;
const START = "2026-03-01T00:00:00Z";
const dayAt = (n: number) => new Date(Date.parse(START) + n * 86_400_000).toISOString();

type Contents = Awaited<ReturnType<typeof contents>>;
type Order = { session_id: string; start_time: string; end_time: string; compression: "none" };

let folder: string;
let all: Order;
/** Two files of two parts each. */
let some: Order;
let expected: { all: Contents; some: Contents };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-faults-"));
  const session_id = await seedRuns({
    from: START,
    to: dayAt(DAYS),
    count: DAYS * RUNS_A_DAY,
    bytes: 100_000,
  });
  const order = { session_id, start_time: START, compression: "none" } as const;
  all = { ...order, end_time: dayAt(DAYS) };
  some = { ...order, end_time: dayAt(2) };
  const destination = await createDestination(prefix);
  expected = {
    all: await undisturbed(destination, all),
    some: await undisturbed(destination, some),
  };
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function undisturbed(bulk_export_destination_id: string, order: Order): Promise<Contents> {
  const { id } = await createExport({ ...order, bulk_export_destination_id });
  expect(await ended(id)).toMatchObject({ status: "COMPLETED" });
  return contents(prefix, id);
}

async function behind(
  proxy: FaultProxy,
  order: Order,
  credentials = s3 as Parameters<typeof bucketClient>[0],
) {
  const destination = await createDestination(prefix, {
    endpoint: proxy.url,
    ...(credentials ? { credentials } : {}),
  });
  return {
    destination,
    start: () => createExport({ ...order, bulk_export_destination_id: destination }),
  };
}

const isPart = (number: number) => (seen: Seen) =>
  seen.method === "PUT" && seen.path.includes(`partNumber=${number}&`);
const isAnyPart = (seen: Seen) => seen.method === "PUT" && seen.path.includes("partNumber=");
const isCreate = ({ method, path }: Seen) => method === "POST" && /\?uploads=?$/.test(path);
const isComplete = ({ method, path }: Seen) => method === "POST" && path.includes("uploadId=");
const isSuccess = ({ method, path }: Seen) => method === "PUT" && path.endsWith("_SUCCESS");
const isManifest = ({ method, path }: Seen) => method === "PUT" && path.endsWith("_manifest.json");
const isFinishing = (seen: Seen) => seen.method === "HEAD" || isManifest(seen) || isSuccess(seen);
const isMoreThanWriting = ({ method, path }: Seen) =>
  ["HEAD", "DELETE", "GET"].includes(method) && !path.includes("_probe");

const isSummed = ({ headers }: Seen) => headers["content-md5"] !== undefined;

function refusal(status: number, code: string, headers: Record<string, string> = {}) {
  const body = `<Error><Code>${code}</Code><Message>as told</Message></Error>`;
  return { answer: { status, headers: { "content-type": "application/xml", ...headers }, body } };
}

function reached(proxy: FaultProxy, what: (seen: Seen) => boolean) {
  return until("the request", async () => proxy.seen.some(what), Boolean);
}

const storm = (times: number, headers: Record<string, string> = {}): Fault[] => [
  { ...refusal(503, "SlowDown", headers), times, when: isAnyPart },
  { ...refusal(503, "ServiceUnavailable", headers), times, when: isCreate },
  { answer: { status: 503, headers, body: "" }, times, when: isComplete },
];

describe("an export leaves what it leaves undisturbed, though", () => {
  test.each<[string, Fault[]]>([
    [
      "connections are cut in parts",
      [
        { cut_after_bytes: 1_000_000, when: isPart(1), times: 3 },
        { cut_after_bytes: 100, when: isPart(2), times: 2 },
      ],
    ],
    ["a storm rages", storm(5)],
    ["a storm rages and says for how long", storm(2, { "retry-after": "1" })],
    [
      "a storm outlasts a whole attempt",
      [{ ...refusal(503, "SlowDown"), times: 9, when: isPart(2) }],
    ],
    [
      "uploads are completed with 200 and an error",
      [{ ...refusal(200, "InternalError"), times: 3, when: isComplete }],
    ],
    [
      "each kind of answer is lost once",
      [
        { lose_answer: true, when: isCreate },
        { lose_answer: true, when: isAnyPart },
        { lose_answer: true, when: isComplete },
        { lose_answer: true, when: ({ method }) => method === "HEAD" },
        { lose_answer: true, when: isManifest },
        { lose_answer: true, when: isSuccess },
      ],
    ],
    ["all completions' answers are lost", [{ lose_answer: true, times: 2, when: isComplete }]],
    ["the finish meets a storm", [{ ...refusal(503, "SlowDown"), times: 9, when: isFinishing }]],
    [
      "uploads vanish",
      [
        { ...refusal(404, "NoSuchUpload"), when: isPart(2) },
        { ...refusal(404, "NoSuchUpload"), when: isComplete },
      ],
    ],
    [
      "its server can do no more than write, and knows no checksums",
      [
        { ...refusal(405, "MethodNotAllowed"), times: 1000, when: isMoreThanWriting },
        { ...refusal(411, "LengthRequired"), times: 1000, when: isSummed },
      ],
    ],
    [
      "its keys may only write",
      [
        { ...refusal(403, "AccessDenied"), times: 1000, when: isMoreThanWriting },
        { cut_after_bytes: 1_000_000, when: isPart(2), times: 7 },
        { lose_answer: true, when: isComplete },
      ],
    ],
  ])("%s", async (_case, faults) => {
    const proxy = await faulty();
    const { start } = await behind(proxy, some);
    proxy.fail(...faults);
    const { id } = await start();
    expect(await ended(id)).toMatchObject({ status: "COMPLETED", error: null });
    expect(await contents(prefix, id)).toEqual(expected.some);
    proxy.heal();
    await download(await readManifest(prefix, id), folder);
  });

  test("its Worker is killed ten times", async () => {
    const seed = Number(process.env.FAULT_SEED ?? Date.now() % 1_000_000);
    const random = mulberry32(seed);
    const proxy = await faulty();
    const { start } = await behind(proxy, all);
    const { id } = await start();
    const kills: string[] = [];
    const kill = async (moment: () => boolean) => {
      const isNow = async () => moment() || (await getExport(id)).status;
      await until("the next moment", isNow, (answer) => answer === true);
      await new Promise((resolve) => setTimeout(resolve, Math.floor(random() * 30)));
      const { method, path } = proxy.seen.at(-1) ?? {};
      kills.push(`${method} ${path?.replace(/^.*%3D/, "").slice(0, 40)}`);
      await killWorker();
      await until(
        "the Worker's return",
        () => request("GET", "/ok").catch(() => ({ status: 0 })),
        ({ status }) => status === 200,
      );
    };
    for (let n = 0; n < 8; n++) {
      const enough = proxy.seen.length + 1 + Math.floor(random() * 3);
      await kill(() => proxy.seen.length >= enough);
    }
    await kill(() => proxy.seen.some(({ method }) => method === "HEAD"));
    await kill(() => proxy.seen.some(isSuccess));
    process.stdout.write(`FAULT_SEED=${seed}: killed after ${kills.join(", ")}\n`);
    const done = await ended(id);
    expect(done).toMatchObject({ status: "COMPLETED", error: null });
    expect(await contents(prefix, id)).toEqual(expected.all);
    const paths = await download(await readManifest(prefix, id), folder);
    const [counted] = await queryParquet(
      paths,
      "SELECT count(*)::INT AS rows, count(DISTINCT id)::INT AS ids FROM t",
    );
    expect(counted).toEqual({ rows: DAYS * RUNS_A_DAY, ids: DAYS * RUNS_A_DAY });
    await noneOpen(`${prefix}/export_id=${id}/`);
  }, 300_000);
});

/** Small and good enough; the same seed makes the same moments. */
function mulberry32(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

test("a key that is revoked in the middle fails the export with S3's message, and another key continues it", async () => {
  const proxy = await faulty();
  const { keys, revoke } = await passingKeys(proxy);
  const { destination, start } = await behind(proxy, some, keys);
  let isRevoked = false;
  const isHeld = (seen: Seen) => !isRevoked && isPart(2)(seen);
  proxy.fail({ ...refusal(503, "SlowDown"), times: 1000, when: isHeld });
  const { id } = await start();
  await reached(proxy, isPart(2));
  await revoke();
  isRevoked = true;
  const failed = await ended(id);
  expect(failed).toMatchObject({
    status: "FAILED",
    error: expect.stringMatching(/\.parquet: (InvalidAccessKeyId|AccessDenied): /),
  });
  proxy.heal();
  const { access_key_id, secret_access_key } = s3;
  const rotated = await request("PATCH", `/api/v1/bulk-exports/destinations/${destination}`, {
    credentials: { access_key_id, secret_access_key },
  });
  expect(rotated.status).toBe(200);
  const again = await request("POST", `/api/v1/bulk-exports/${id}/retry`);
  expect([again.status, again.body]).toMatchObject([200, { id, status: "CREATED", error: null }]);
  expect(await ended(id)).toMatchObject({ status: "COMPLETED" });
  expect(await contents(prefix, id)).toEqual(expected.some);
  await noneOpen(`${prefix}/export_id=${id}/`);
});

test("a bucket that is deleted in the middle fails the export in S3's words", async () => {
  const bucket = `faults-${crypto.randomUUID().slice(0, 8)}`;
  const url = `${s3.endpoint}/${bucket}`;
  const made = await bucketClient().fetch(url, { method: "PUT" });
  expect(made.status, await made.text()).toBe(200);
  const proxy = await faulty();
  const destination = await createDestination(prefix, { endpoint: proxy.url, bucket });
  proxy.fail({ ...refusal(503, "SlowDown"), times: 1000, when: isAnyPart });
  const { id } = await createExport({ ...some, bulk_export_destination_id: destination });
  await reached(proxy, isAnyPart);
  const there = client({ bucket_name: bucket });
  for (const { key, upload_id } of await there.listUploads("")) {
    await there.abortUpload(key, upload_id);
  }
  const gone = await bucketClient().fetch(url, { method: "DELETE" });
  expect(gone.status, await gone.text()).toBe(204);
  proxy.heal();
  expect(await ended(id)).toMatchObject({
    status: "FAILED",
    error: expect.stringContaining("NoSuchBucket: "),
  });
});

describe("an export that is cancelled leaves no upload and does not call itself whole:", () => {
  test.each([
    ["while it opens an upload", isCreate],
    ["while it writes a part", isPart(2)],
    ["while it completes a file", isComplete],
    ["while it finishes", isSuccess],
  ])("%s", async (_case, isThere) => {
    const proxy = await faulty();
    const { start } = await behind(proxy, some);
    proxy.fail({ hang: true, times: 1000, when: isThere });
    const { id } = await start();
    await reached(proxy, isThere);
    const cancelled = await request("PATCH", `/api/v1/bulk-exports/${id}`, { status: "Cancelled" });
    expect([cancelled.status, cancelled.body]).toMatchObject([200, { status: "CANCELLED" }]);
    const export_folder = `${prefix}/export_id=${id}/`;
    await noneOpen(export_folder);
    await until(
      "the end of markers",
      () => listKeys(`${export_folder}_`),
      (keys) => keys.length === 0,
    );
    proxy.heal();
    expect(await getExport(id)).toMatchObject({ status: "CANCELLED", error: null });
  });

  test("after its end it cannot be", async () => {
    const proxy = await faulty();
    const { start } = await behind(proxy, some);
    const { id } = await start();
    await ended(id);
    const { status } = await request("PATCH", `/api/v1/bulk-exports/${id}`, {
      status: "Cancelled",
    });
    expect(status).toBe(409);
    expect(await contents(prefix, id)).toEqual(expected.some);
  });
});
