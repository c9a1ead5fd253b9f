import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { batchBody } from "../../bench/trace-bodies.ts";
import { assert, type Check, Skipped, type Target } from "./target.ts";

const RUN_BYTES = 20_000;
const DAY_MS = 86_400_000;
const SETTLE_MS = 200;
const PAYLOAD_WORDS = 150_000;
const ATTACHMENT_BYTES = 3_000_000;

export const TRACE_CHECKS: Check[] = [
  { name: "traces", limit: "alarm of an object, outbox", run: checkTraces },
  { name: "compressed body", limit: "proxies change no Content-Encoding", run: checkCompressed },
  { name: "large payload", limit: "SQLite row 2 MB, R2", run: checkPayload },
  { name: "attachment", limit: "R2: body of any bytes", run: checkAttachment },
  { name: "trace counts", limit: "alarm of an object, D1 write", run: checkCounts },
  { name: "large bodies", limit: "128 MB of an isolate", run: checkBodies },
  { name: "export", limit: "S3 multipart, queue", run: checkExport },
];

type Project = { id: string };
type Sent = { refused: number };

async function checkTraces(target: Target): Promise<string> {
  const { project_id } = target.agent;
  const query = { session: [project_id], is_root: true, limit: 100 };
  const runs = await target.poll("trace of a run", async () => {
    const found = await target.json<{ runs: object[] }>("POST", "/api/v1/runs/query", query);
    return found.runs.length > 0 ? found.runs : null;
  });
  return `runs have traces (${runs.length} on the first page)`;
}

type SentRun = { id: string; trace_id: string; session_name: string } & Record<string, unknown>;

/** Returns the name of the project of the small traces of these checks. */
function projectName(target: Target): string {
  return `platform-check-${target.agent.id}`;
}

function newRun(target: Target, fields: Record<string, unknown>): SentRun {
  const id = randomUUID();
  const start_time = new Date().toISOString();
  const dotted_order = `${start_time.replace(/[-:.]/g, "").replace("Z", "000Z")}${id}`;
  const named = { session_name: projectName(target), name: "platform check", run_type: "chain" };
  return { id, trace_id: id, dotted_order, start_time, end_time: start_time, ...named, ...fields };
}

type RunsBody = string | FormData | Uint8Array<ArrayBuffer>;
const cleaned = new WeakSet<Target>();

async function sendRuns(target: Target, body: RunsBody, headers: Record<string, string>) {
  if (!cleaned.has(target)) target.cleanups.push(() => deleteProject(target, projectName(target)));
  cleaned.add(target);
  const path = headers["Content-Type"] === undefined ? "/runs/multipart" : "/runs/batch";
  const { url, key } = target.settings;
  const all = { "X-Api-Key": key, ...headers };
  const response = await fetch(new URL(path, url), { method: "POST", headers: all, body });
  assert(response.status === 202, `${path} answered ${response.status}: ${await response.text()}`);
}

async function deleteProject(target: Target, name: string): Promise<void> {
  const projects = await target.json<Project[]>("GET", `/api/v1/sessions?name=${name}`);
  for (const { id } of projects) await target.json("DELETE", `/api/v1/sessions/${id}`);
}

const JSON_BODY = { "Content-Type": "application/json" };

function readRun<T>(target: Target, id: string): Promise<T> {
  const read = async () => {
    const response = await target.fetch("GET", `/api/v1/runs/${id}`);
    return response.ok ? ((await response.json()) as T) : null;
  };
  return target.poll(`trace run ${id}`, read);
}

async function checkCompressed(target: Target): Promise<string> {
  for (const [encoding, pack] of Object.entries({ gzip: gzipSync, zstd: zstdCompressSync })) {
    const run = newRun(target, { inputs: { encoding } });
    const body = new Uint8Array(pack(JSON.stringify({ post: [run] })));
    await sendRuns(target, body, { ...JSON_BODY, "Content-Encoding": encoding });
    const { inputs } = await readRun<{ inputs: unknown }>(target, run.id);
    assert(Object(inputs).encoding === encoding, `a body in ${encoding} is read as ${inputs}`);
  }
  return "bodies in gzip and zstd are stored";
}

async function checkPayload(target: Target): Promise<string> {
  const text = Array.from({ length: PAYLOAD_WORDS }, (_, n) => `word-${n}-é`).join(" ");
  const run = newRun(target, { inputs: { text } });
  await sendRuns(target, JSON.stringify({ post: [run] }), JSON_BODY);
  const { inputs } = await readRun<{ inputs: { text?: string } | null }>(target, run.id);
  assert(inputs?.text === text, `a payload has ${inputs?.text?.length} of ${text.length} letters`);
  return `a payload of ${(Buffer.byteLength(text) / 1e6).toFixed(1)} MB is read as it was sent`;
}

async function checkAttachment(target: Target): Promise<string> {
  const bytes = new Uint8Array(randomBytes(ATTACHMENT_BYTES));
  const run = newRun(target, { inputs: {} });
  const form = new FormData();
  form.append(`post.${run.id}`, new Blob([JSON.stringify(run)], { type: "application/json" }));
  form.append(`attachment.${run.id}.file`, new Blob([bytes], { type: "application/octet-stream" }));
  await sendRuns(target, form, {});
  await readRun(target, run.id);
  const response = await target.fetch("GET", `/runs/${run.id}/attachments/file`);
  const read = Buffer.from(await response.arrayBuffer());
  assert(read.equals(bytes), `an attachment of ${bytes.length} bytes is read with ${read.length}`);
  return `an attachment of ${bytes.length} bytes is read as it was sent`;
}

/** The object of a project's day writes its counts to D1 from its alarm. */
async function checkCounts(target: Target): Promise<string> {
  const run = newRun(target, { inputs: {} });
  await sendRuns(target, JSON.stringify({ post: [run] }), JSON_BODY);
  const path = `/api/v1/sessions?include_stats=true&name=${projectName(target)}`;
  const project = await target.poll("count of a trace in its project", async () => {
    const [found] = await target.json<(Project & { run_count: number })[]>("GET", path);
    return found && found.run_count > 0 ? found : null;
  });
  return `the project lists ${project.run_count} traces`;
}

/** An isolate has 128 MB: bodies that do not fit must be refused, and be accepted when they are sent again. */
async function checkBodies(target: Target): Promise<string> {
  const { bodies, body_bytes } = target.settings;
  const name = `platform-check-${Date.now()}`;
  const runs = Math.ceil(body_bytes / RUN_BYTES);
  const all = Array.from({ length: bodies }, () => batchBody(name, runs, RUN_BYTES).bytes);
  // Making the bodies blocked the event loop for seconds. Without this pause, connections that the server has closed by
  // now would be used.
  await sleep(SETTLE_MS);
  target.cleanups.push(() => deleteProject(target, name));
  const sent = await Promise.all(all.map((body) => sendUntilStored(target, body)));
  const [project] = await target.json<Project[]>("GET", `/api/v1/sessions?name=${name}`);
  assert(project !== undefined, `the project ${name} does not exist`);
  const stats = { session: [project.id] };
  const { run_count } = await target.json<{ run_count: number }>(
    "POST",
    "/api/v1/runs/stats",
    stats,
  );
  const wanted = bodies * runs;
  assert(run_count === wanted, `${run_count} of ${wanted} trace runs are stored`);
  const refused = sent.reduce((sum, each) => sum + each.refused, 0);
  const megabytes = Math.round(body_bytes / 1_000_000);
  return `${bodies} bodies of ${megabytes} MB are stored, after ${refused} answers of 503`;
}

async function sendUntilStored(target: Target, body: Uint8Array<ArrayBuffer>): Promise<Sent> {
  const { url, key } = target.settings;
  const headers = { "X-Api-Key": key, "Content-Type": "application/json" };
  for (let refused = 0; ; refused += 1) {
    const response = await fetch(new URL("/runs/batch", url), { method: "POST", headers, body });
    const text = await response.text();
    if (response.status === 202) return { refused };
    assert(response.status === 503, `a body got ${response.status}: ${text.slice(0, 300)}`);
    const seconds = Number(response.headers.get("Retry-After"));
    assert(seconds > 0, "a 503 has no Retry-After");
    assert(refused < 60, "a body was refused 60 times");
    await sleep(seconds * 1000);
  }
}

async function checkExport(target: Target): Promise<string> {
  if (target.settings.export === undefined) throw new Skipped("give --bucket");
  const { access_key_id, secret_access_key, ...config } = target.settings.export;
  const path = "/api/v1/bulk-exports";
  const destination = await target.json<{ id: string }>("POST", `${path}/destinations`, {
    destination_type: "s3",
    display_name: "Platform check",
    config: { ...config, prefix: "platform-check" },
    credentials: { access_key_id, secret_access_key },
  });
  target.cleanups.push(() => target.json("DELETE", `${path}/destinations/${destination.id}`));
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const { id } = await target.json<{ id: string }>("POST", path, {
    bulk_export_destination_id: destination.id,
    session_id: target.agent.project_id,
    start_time: new Date(today - DAY_MS).toISOString(),
    end_time: new Date(today + DAY_MS).toISOString(),
  });
  const done = await target.poll("end of the export", async () => {
    const read = await target.json<{ status: string }>("GET", `${path}/${id}`);
    return ["CREATED", "RUNNING"].includes(read.status) ? null : read;
  });
  assert(done.status === "COMPLETED", `the export ended ${JSON.stringify(done).slice(0, 300)}`);
  return `an export to ${config.bucket_name}/platform-check is complete`;
}
