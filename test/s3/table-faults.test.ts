import { describe, expect, test } from "vitest";
import type { BulkExport } from "../../src/exports/schema.ts";
import type { TableMetadata } from "../../src/exports/table-state.ts";
import { createDestination, createExport, getObject } from "../e2e/support/exports.ts";
import { aliveAgain, request } from "../e2e/support/http.ts";
import { killWorker, until } from "../e2e/support/stack.ts";
import { seedRuns } from "../e2e/support/trace-runs.ts";
import { readAvro } from "../exports/iceberg/avro-reader.ts";
import type { FaultProxy, Seen } from "../support/node/fault-proxy.ts";
import { client, faulty, prefix, s3 } from "./support/s3.ts";

const WINDOWS = 2;
const RUNS = 20;
const HOUR_MS = 3_600_000;
const REFUSAL = {
  status: 403,
  body: "<Error><Code>AccessDenied</Code><Message>No.</Message></Error>",
};

/** Creates a schedule whose windows are due, and the next one is not for almost an hour. */
async function schedule(proxy: FaultProxy): Promise<string> {
  const start_ms = Date.now() - WINDOWS * HOUR_MS - 11 * 60_000;
  const start_time = new Date(start_ms).toISOString();
  const to = new Date(start_ms + WINDOWS * HOUR_MS).toISOString();
  const { id } = await createExport({
    bulk_export_destination_id: await createDestination(prefix, { endpoint: proxy.url }),
    session_id: await seedRuns({ from: start_time, to, count: RUNS }),
    start_time,
    interval_hours: 1,
    table_format: "iceberg",
  });
  return id;
}

async function windowsOf(id: string): Promise<BulkExport[]> {
  const path = `/api/v1/bulk-exports?source_bulk_export_id=${id}`;
  return (await request<BulkExport[]>("GET", path)).body;
}

function windowsWith(id: string, status: string, count: number) {
  return until(
    `${count} windows that are ${status}`,
    () => windowsOf(id),
    (found) => found.filter((each) => each.status === status).length === count,
  );
}

const isPut = (name: string) => (seen: Seen) =>
  seen.method === "PUT" && seen.path.includes("/_tables/") && seen.path.endsWith(name);

function reached(proxy: FaultProxy, name: string) {
  return until("the request", async () => proxy.seen.some(isPut(name)), Boolean);
}

const text = async (key: string) => new TextDecoder().decode(await getObject(key));
const toKey = (url: string) => url.slice(`s3://${s3.bucket}/`.length);

/** Reads the bucket from the hint: the exports of the snapshots, the rows of all files, and files that come twice. */
async function readTable(id: string) {
  const folder = `${prefix}/_tables/${id}/metadata`;
  const version = await text(`${folder}/version-hint.text`);
  const metadata = JSON.parse(await text(`${folder}/v${version}.metadata.json`)) as TableMetadata;
  const list = await getObject(toKey(metadata.snapshots.at(-1)?.["manifest-list"] ?? ""));
  const manifests = readAvro(list).records as { manifest_path: string }[];
  let rows = 0;
  const keys: string[] = [];
  for (const { manifest_path } of manifests) {
    const entries = readAvro(await getObject(toKey(manifest_path))).records;
    for (const { data_file } of entries as { data_file: DataFileEntry }[]) {
      rows += data_file.record_count;
      keys.push(data_file.file_path);
    }
  }
  const exports = metadata.snapshots.map(({ summary }) => summary["heddle.export-id"] ?? "");
  const doubled = keys.length - new Set(keys).size;
  return { version: Number(version), exports: exports.toSorted(), rows, doubled };
}

type DataFileEntry = { file_path: string; record_count: number };

async function expectWhole(id: string) {
  const windows = await windowsWith(id, "COMPLETED", WINDOWS);
  expect(await readTable(id)).toEqual({
    version: WINDOWS,
    exports: windows.map((each) => each.id).toSorted(),
    rows: RUNS,
    doubled: 0,
  });
}

const STEPS = ["-added.avro", "-snapshot.avro", ".metadata.json", "version-hint.text"];

describe("a table has each window once, though", () => {
  test.each(STEPS)("the Worker is killed while it writes %s", async (name) => {
    const proxy = await faulty();
    proxy.fail({ hang: true, when: isPut(name) });
    const id = await schedule(proxy);
    await reached(proxy, name);
    await killWorker();
    await aliveAgain();
    await expectWhole(id);
  });

  test.each(STEPS)("the Worker is killed after it wrote %s", async (name) => {
    const proxy = await faulty();
    proxy.fail({ lose_answer: true, times: 3, when: isPut(name) });
    const id = await schedule(proxy);
    await reached(proxy, name);
    await killWorker();
    await aliveAgain();
    await expectWhole(id);
  });

  test.each(STEPS)("the bucket refuses %s until the export is retried", async (name) => {
    const proxy = await faulty();
    proxy.fail({ answer: REFUSAL, times: 1000, when: isPut(name) });
    const id = await schedule(proxy);
    const failed = await windowsWith(id, "FAILED", WINDOWS);
    expect(failed[0]?.error).toContain("AccessDenied");
    proxy.heal();
    for (const each of failed) await request("POST", `/api/v1/bulk-exports/${each.id}/retry`);
    await expectWhole(id);
  });

  test("the server does not know conditions of writes", async () => {
    const proxy = await faulty();
    const isConditional = ({ headers }: Seen) => headers["if-none-match"] !== undefined;
    const body = "<Error><Code>NotImplemented</Code><Message>No.</Message></Error>";
    proxy.fail({ answer: { status: 501, body }, times: 1000, when: isConditional });
    await expectWhole(await schedule(proxy));
  });
});

test("metadata of another program stops the table, with the key and the remedy", async () => {
  const proxy = await faulty();
  proxy.fail({ answer: REFUSAL, times: 1000, when: isPut(".metadata.json") });
  const id = await schedule(proxy);
  const failed = await windowsWith(id, "FAILED", WINDOWS);
  const key = `${prefix}/_tables/${id}/metadata/v1.metadata.json`;
  await client().putObject(key, new TextEncoder().encode("{}"));
  proxy.heal();
  const retry = () =>
    Promise.all(failed.map((each) => request("POST", `/api/v1/bulk-exports/${each.id}/retry`)));
  await retry();
  const again = await windowsWith(id, "FAILED", WINDOWS);
  expect(again[0]?.error).toContain(`${key} was written by another program`);
  expect(await text(key)).toBe("{}");
  await client().deleteObject(key);
  await retry();
  await expectWhole(id);
});
