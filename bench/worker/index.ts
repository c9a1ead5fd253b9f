import { and, eq } from "drizzle-orm";
import { COLUMNS as EXPORTED, sourcesOf } from "../../src/exports/columns.ts";
import { writeFile } from "../../src/exports/files/file-writer.ts";
import { bulk_export_files } from "../../src/exports/table.ts";
import heddle, { TracePartition as Product } from "../../src/index.ts";
import { contextFor, database } from "../../src/shared/context.ts";
import { dayOf } from "../../src/shared/times.ts";
import { partitions } from "../../src/traces/catalogue/table.ts";
import type { PartitionKey, RunChange } from "../../src/traces/changes.ts";
import { toIncoming } from "../../src/traces/ingest/incoming.ts";
import { ingest } from "../../src/traces/ingest/store-runs.ts";
import { addSlot } from "../../src/traces/object/slots.ts";
import { FeedbackLookup } from "../../src/traces/reads/feedback-lookup.ts";
import { RunReader } from "../../src/traces/reads/run-reader.ts";
import { type RowsPage, readPage } from "../../src/traces/reads/scan-page.ts";
import { planScan, scanChunk } from "../../src/traces/scan/scan-service.ts";
import { ColdStorage } from "../../src/traces/storage/cold-storage.ts";
import { PartitionStore } from "../../src/traces/storage/partition.ts";
import { takeReads, withCountedBucket } from "./counted-bucket.ts";
import { rowChange, seedRun } from "./seed.ts";

// Named exports win over those of the star.
export * from "../../src/index.ts";

const PAGE_BYTES = 4 * 1024 * 1024;
const SEEDS_AT_ONCE = 500;
const HOUR_MS = 3_600_000;
const CHILLED = "The bodies are in R2";
/** Columns of a full export. */
const COLUMNS = sourcesOf(EXPORTED);

/** The product's object, with methods that measure its storage without HTTP and RPC. */
export class TracePartition extends Product {
  readonly #alone = new PartitionStore(this.ctx.storage);
  #prepared: RunChange[][] = [];

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, withCountedBucket(env));
  }

  async prepare(changes: RunChange[]): Promise<void> {
    this.#prepared.push(changes);
  }

  /** Stores each prepared list in a transaction that is durable before the next, as requests do. Returns the rows. */
  async insertPrepared(): Promise<number> {
    let rows = 0;
    for (const changes of this.#prepared.splice(0)) {
      this.#alone.ingest(changes, false);
      await this.ctx.storage.sync();
      rows += changes.length;
    }
    return rows;
  }

  /**
   * Moves all bodies to R2, as if the partition had been quiet for two hours, and ends the object, which then reloads.
   */
  async chill(partition: PartitionKey): Promise<void> {
    const store = new PartitionStore(this.ctx.storage);
    const cold = new ColdStorage(this.env, this.ctx.storage, store);
    const { now } = Date;
    Date.now = () => now() + 2 * HOUR_MS;
    try {
      while ((cold.nextAt(partition) ?? Infinity) <= Date.now()) await cold.run(partition);
    } finally {
      Date.now = now;
    }
    await this.ctx.storage.sync();
    this.ctx.abort(CHILLED);
  }

  async unseal(): Promise<void> {
    this.#alone.sealed.drop();
  }

  async scanAlone(): Promise<number> {
    const columns = COLUMNS.filter((name) => name !== "feedback_stats");
    const all = { filter: null, project_id: "", from_us: 0, to_us: 1e17, until: null };
    const seqs = { min_seq: null, max_seq: 1e17 };
    const query = {
      ...all,
      ...seqs,
      columns,
      with_ids: false,
      max_bytes: PAGE_BYTES,
    };
    const reader = new RunReader(this.#alone.runs, new FeedbackLookup(this.ctx.storage.sql));
    let rows = 0;
    let after: { start_us: number; id: string } | null = null;
    do {
      const page: RowsPage = readPage(reader, { ...query, after });
      rows += rowsOf(page);
      after = page.next;
    } while (after !== null);
    return rows;
  }
}

type Stub = Pick<TracePartition, "prepare" | "insertPrepared" | "chill" | "scanAlone" | "unseal">;

export default {
  ...heddle,
  async fetch(request: Request, env: Env, execution: ExecutionContext): Promise<Response> {
    const url = new URL(request.url);
    const counted = withCountedBucket(env);
    if (!url.pathname.startsWith("/bench/")) return heddle.fetch(request, counted, execution);
    return Response.json(await measured(url.pathname.slice(7), request, env, url.searchParams));
  },
};

/** Stores runs of `seed.ts` as ingestion does. */
async function seed(env: Env, query: URLSearchParams): Promise<void> {
  const number = (name: string) => Number(query.get(name));
  const seeded = { runs: number("runs"), days: number("days") };
  const project_id = query.get("project") ?? "";
  const ctx = contextOf(env, query.get("workspace") ?? "");
  const end = number("from") + number("count");
  for (let from = number("from"); from < end; from += SEEDS_AT_ONCE) {
    const count = Math.min(SEEDS_AT_ONCE, end - from);
    const runs = Array.from({ length: count }, (_, n) => seedRun(from + n, seeded, project_id));
    await ingest(ctx, runs);
  }
}

async function slotsOf(env: Env, project_id: string) {
  const { day, slot } = partitions;
  const isOfProject = eq(partitions.project_id, project_id);
  return database(env).select({ day, slot }).from(partitions).where(isOfProject);
}

async function chill(env: Env, partition: PartitionKey): Promise<null> {
  const { project_id, day, slot } = partition;
  const object = env.PARTITIONS.getByName(`${project_id}/${day}/${slot}`) as unknown as Stub;
  await object.chill(partition).catch((error: unknown) => {
    if (!String(error).includes(CHILLED)) throw error;
  });
  return null;
}

/** Stores rows of `rows.ts`, each in the object of its day. */
async function seedRows(env: Env, query: URLSearchParams): Promise<void> {
  const [from, count, size] = ["from", "count", "size"].map((name) => Number(query.get(name)));
  const project_id = query.get("project") ?? "";
  const ctx = contextOf(env, query.get("workspace") ?? "");
  const numbers = Array.from({ length: count ?? 0 }, (_, n) => (from ?? 0) + n);
  const changes = numbers.map((n) => rowChange(n, size ?? 1));
  for (const [day, some] of Map.groupBy(changes, ({ columns }) => dayOf(columns.start_us ?? 0))) {
    const place = { project_id, day, slot: await addSlot(ctx, { project_id, day }, 0) };
    await env.PARTITIONS.getByName(`${project_id}/${day}/0`).ingest(place, some, false);
  }
}

async function unseal(env: Env, workspace_id: string, project_id: string): Promise<null> {
  const { chunks } = await plan(env, workspace_id, project_id);
  for (const { partition } of chunks) {
    const name = `${project_id}/${partition.day}/${partition.slot}`;
    await (env.PARTITIONS.getByName(name) as unknown as Stub).unseal();
  }
  return null;
}

/** Writes a file of an export once more: the same bytes to the same key. */
async function writeAgain(env: Env, export_id: string, number: number): Promise<number> {
  const files = bulk_export_files;
  const db = database(env);
  const isIt = and(eq(files.bulk_export_id, export_id), eq(files.number, number));
  const [file] = await db.update(files).set({ status: "RUNNING" }).where(isIt).returning();
  if (!file) throw new Error(`The export ${export_id} has no file ${number}`);
  const written = { rows_written: 0, bytes_written: 0 };
  const { signal } = new AbortController();
  await writeFile(env, file, { written, signal });
  await db.update(files).set({ status: "COMPLETED", upload_id: null }).where(isIt);
  return written.rows_written;
}

async function measured(what: string, request: Request, env: Env, query: URLSearchParams) {
  const param = (name: string) => query.get(name) ?? "";
  const [project_id, day] = [param("project"), param("day")];
  // The binding is typed as the product's class; what runs is the one above.
  const object = env.PARTITIONS.getByName(`${project_id}/${day}/0`) as unknown as Stub;
  switch (what) {
    case "prepare": {
      const { post } = await request.json<{ post: unknown[] }>();
      await object.prepare(post.map((run) => toIncoming(run, "post", [])));
      return post.length;
    }
    case "insert":
      return object.insertPrepared();
    case "seed":
      await seed(env, query);
      return null;
    case "slots":
      return slotsOf(env, project_id);
    case "chill":
      return chill(env, { project_id, day, slot: Number(param("slot")) });
    case "reads":
      return takeReads();
    case "seed-rows":
      await seedRows(env, query);
      return null;
    case "unseal":
      return unseal(env, param("workspace"), project_id);
    case "write-again":
      return writeAgain(env, param("export"), Number(param("number")));
    case "scan-alone":
      return object.scanAlone();
    case "plan":
      return (await plan(env, param("workspace"), project_id)).chunks.length;
    case "scan":
      return scan(env, param("workspace"), project_id);
    default:
      throw new Error(`No measurement is called ${what}`);
  }
}

function contextOf(env: Env, workspace_id: string) {
  const actor = { type: "system", job: "bench" } as const;
  const caller = { organization_id: "", workspace_id, role: "viewer", plan: "enterprise" } as const;
  return contextFor(env, { ...caller, actor });
}

function plan(env: Env, workspace_id: string, project_id: string) {
  const range = { from_us: 0, to_us: 4e15, filter: null, min_seqs: null };
  const limits = { max_rows: 250_000, max_bytes: 128 * 1024 * 1024 };
  return planScan(contextOf(env, workspace_id), { project_id, ...range, ...limits });
}

function rowsOf({ parts }: { parts: { rows: number }[] }): number {
  return parts.reduce((sum, { rows }) => sum + rows, 0);
}

async function scan(env: Env, workspace_id: string, project_id: string): Promise<number> {
  const ctx = contextOf(env, workspace_id);
  let rows = 0;
  for (const chunk of (await plan(env, workspace_id, project_id)).chunks) {
    let after: { start_us: number; id: string } | null = null;
    do {
      const request = { columns: COLUMNS, filter: null, after, max_bytes: PAGE_BYTES };
      const page = await scanChunk(ctx, chunk, request);
      rows += rowsOf(page);
      after = page.next;
    } while (after !== null);
  }
  return rows;
}
