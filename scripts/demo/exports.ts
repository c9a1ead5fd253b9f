// Exports the traces of the agent's runs to the stack's bucket and reads them back with DuckDB.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { AwsClient } from "aws4fetch";
import { formatDuration } from "../../local/processes/terminal.ts";
import type { StackInfo } from "../../local/stack.ts";
import { type Call, caller } from "./call.ts";
import { expect, type Note } from "./story.ts";

type Project = { id: string };
type Destination = { id: string };
type Export = { id: string; status: string; error: string | null };
type Manifest = { rows: number; files: { key: string; rows: number; bytes: number }[] };
type TraceRun = { id: string; name: string; run_type: string };

const POLL_MS = 100;
const GIVE_UP_MS = 60_000;
const DAY_MS = 86_400_000;
const PREFIX = "demo";

/** Waits for a trace with a tool's call, because traces are written after the answers. Returns the project. */
export async function findTraces(info: StackInfo, project: string, note: Note): Promise<Project> {
  const call = caller(info);
  const [found] = await call<Project[]>("GET", `/api/v1/sessions?name=${project}`, 200);
  expect(found !== undefined, `The deployment "${project}" should have a project for its traces.`);
  const query = { session: [found.id], run_type: "tool", limit: 100 };
  const tools = await poll("a trace with the tool's call", async () => {
    const { runs } = await call<{ runs: TraceRun[] }>("POST", "/api/v1/runs/query", 200, query);
    return runs.length > 0 ? runs : null;
  });
  note("project", `${project}, ${found.id}`);
  note("tool calls", tools.map(({ name }) => name).join(", "));
  return found;
}

export async function exportTraces(info: StackInfo, project: Project, dir: string, note: Note) {
  const call = caller(info);
  const destination = await createDestination(call, info);
  note("destination", `${info.s3.endpoint}/${info.s3.bucket}/${PREFIX}, probed`);
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const started = performance.now();
  const made = await call<Export>("POST", "/api/v1/bulk-exports", 200, {
    bulk_export_destination_id: destination.id,
    session_id: project.id,
    start_time: new Date(today - DAY_MS).toISOString(),
    end_time: new Date(today + DAY_MS).toISOString(),
    format_version: "v2_beta",
  });
  const done = await poll("the end of the export", async () => {
    const read = await call<Export>("GET", `/api/v1/bulk-exports/${made.id}`, 200);
    return ["CREATED", "RUNNING"].includes(read.status) ? null : read;
  });
  expect(done.status === "COMPLETED", `The export should be COMPLETED: ${JSON.stringify(done)}`);
  note("COMPLETED", `${made.id} after ${formatDuration(performance.now() - started)}`);
  const manifest = await readManifest(info, made.id);
  for (const { key, rows, bytes } of manifest.files) {
    note("file", `${rows} rows, ${bytes} bytes\n${key.slice(key.indexOf("/runs/") + 1)}`);
  }
  return { manifest, paths: await download(info, manifest, dir) };
}

export async function readWithDuckDb(paths: string[], manifest: Manifest, note: Note) {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const files = paths.map((path) => `'${path.replaceAll("'", "''")}'`).join(", ");
  const query = async (sql: string) => (await connection.runAndReadAll(sql)).getRowsJS();
  const from = `FROM read_parquet([${files}], hive_partitioning = true)`;
  const [[rows] = []] = await query(`SELECT count(*)::INT ${from}`);
  const table = await query(`SELECT run_type, name, count(*)::INT,
      round(avg(date_diff('millisecond', start_time, end_time)), 1)::VARCHAR || ' ms'
    ${from} GROUP BY ALL ORDER BY 3 DESC, 1, 2 LIMIT 8`);
  connection.closeSync();
  instance.closeSync();
  note("rows", String(rows));
  note("table", formatTable([["run_type", "name", "runs", "mean"], ...table.map(toTexts)]));
  expect(rows === manifest.rows, `DuckDB should count ${manifest.rows} rows and counts ${rows}.`);
}

function createDestination(call: Call, { s3 }: StackInfo): Promise<Destination> {
  return call<Destination>("POST", "/api/v1/bulk-exports/destinations", 200, {
    destination_type: "s3",
    display_name: "demo bucket",
    config: {
      bucket_name: s3.bucket,
      prefix: PREFIX,
      region: s3.region,
      endpoint_url: s3.endpoint,
    },
    credentials: { access_key_id: s3.access_key_id, secret_access_key: s3.secret_access_key },
  });
}

async function readManifest(info: StackInfo, id: string): Promise<Manifest> {
  const bytes = await getObject(info, `${PREFIX}/_exports/${id}/_manifest.json`);
  return JSON.parse(new TextDecoder().decode(bytes)) as Manifest;
}

async function download(info: StackInfo, { files }: Manifest, dir: string): Promise<string[]> {
  return Promise.all(
    files.map(async ({ key }) => {
      const path = join(dir, key);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, await getObject(info, key));
      return path;
    }),
  );
}

async function getObject({ s3 }: StackInfo, key: string): Promise<Uint8Array> {
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey, region } = s3;
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: "s3" });
  const response = await client.fetch(`${s3.endpoint}/${s3.bucket}/${key}`);
  expect(response.ok, `The bucket should have ${key} and answered ${response.status}.`);
  return new Uint8Array(await response.arrayBuffer());
}

async function poll<T>(what: string, read: () => Promise<T | null>): Promise<T> {
  const deadline = Date.now() + GIVE_UP_MS;
  for (;;) {
    const answer = await read();
    if (answer !== null) return answer;
    expect(Date.now() < deadline, `There should be ${what} within a minute.`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function toTexts(row: unknown[]): string[] {
  return row.map(String);
}

function formatTable(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, n) => Math.max(...rows.map((row) => row[n]?.length ?? 0)));
  const lines = rows.map((row) => row.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join("  "));
  return lines.map((line) => line.trimEnd()).join("\n");
}
