// The tail as it is deployed: workerd hands it the events of another script, and DuckDB reads what it keeps.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { DuckDBInstance } from "@duckdb/node-api";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, test } from "vitest";
import { unstable_readConfig as readConfig } from "wrangler";
import { bundleScript } from "../../scripts/build/script.ts";
import { eventually } from "../support/eventually.ts";

let dir: string;
let miniflare: Miniflare;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "heddle-tail-"));
  const { main, compatibility_date } = readConfig({ config: "wrangler.tail.toml" });
  const bundleOf = (name: string) => ({
    ...{ name, modulesRoot: join(dir, name), compatibilityDate: compatibility_date },
    modules: [{ type: "ESModule" as const, path: join(dir, name, "index.js") }],
  });
  await Promise.all([
    bundleScript("test/fixtures/tail-producer.ts", join(dir, "producer"), "index.js"),
    bundleScript(main, join(dir, "heddle-tail"), "index.js"),
  ]);
  miniflare = new Miniflare(
    convertV4MiniflareOptions({
      handleStructuredLogs: () => undefined,
      workers: [
        {
          ...bundleOf("producer"),
          durableObjects: { OBJECT: "LoggingObject" },
          tails: ["heddle-tail"],
        },
        {
          ...bundleOf("heddle-tail"),
          r2Buckets: { ARTIFACTS: "heddle-artifacts" },
        },
      ],
    }),
  );
});
afterAll(async () => {
  await miniflare?.dispose();
  await rm(dir, { recursive: true, force: true });
});

async function keys(): Promise<string[]> {
  const bucket = await miniflare.getR2Bucket("ARTIFACTS", "heddle-tail");
  return (await bucket.list()).objects.map(({ key }) => key);
}

test("lines and exceptions of requests and objects are objects that DuckDB reads", async () => {
  const origin = (await miniflare.ready).origin;
  const call = (path: string) =>
    fetch(`${origin}${path}?key=secret`).then((answer) => answer.text());
  await call("/quiet");
  await call("/logged");
  await call("/throw");
  // The request, its object, and the request that failed.
  await eventually(async () => expect(await keys()).toHaveLength(3));
  const bucket = await miniflare.getR2Bucket("ARTIFACTS", "heddle-tail");
  for (const key of await keys()) {
    expect(key).toMatch(/^logs\/\d{4}\/\d\d\/\d\d\/\d\d\/[-0-9a-f]{36}\.ndjson\.gz$/);
    const bytes = new Uint8Array((await (await bucket.get(key))?.arrayBuffer()) ?? []);
    expect(gunzipSync(bytes).toString()).not.toMatch(/secret|127\.0\.0\.1/);
    await writeFile(join(dir, key.replaceAll("/", "-")), bytes);
  }
  const db = await (await DuckDBInstance.create()).connect();
  const files = `${dir.replaceAll("'", "''")}/logs-*.ndjson.gz`;
  const rows = await db.runAndReadAll(
    `SELECT event, level, entrypoint, request_id, run_id, error[:19], time > '2026-01-01'::TIMESTAMP
     FROM read_json('${files}', union_by_name = true) ORDER BY event`,
  );
  expect(rows.getRows()).toEqual([
    ["attempt_lost", "warn", "LoggingObject", null, "run-1", null, true],
    ["request_failed", "error", null, "r-1", null, "Error: broken\n    a", true],
    ["uncaught_exception", "error", null, null, null, "TypeError: not hand", true],
  ]);
});
