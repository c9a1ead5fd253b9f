// Creates traces of two old days, whose short-lived ones have expired, and compares what is stored with what was sent.
import type { StackInfo } from "../../local/stack.ts";
import type { Random } from "./random.ts";
import { pause, type Server } from "./server.ts";

type RunRow = { id: string; outputs: { version?: number } | null };
type Page = { runs: RunRow[]; cursors: { next: string | null } };
type Export = { id: string; status: string; error: unknown; progress: { rows_written: number } };
type Sent = { id: string; start: number; version: number };

const DAY_MS = 86_400_000;
/** Ages of the two days, in days. Short-lived traces live for 14 days. */
const AGES = [20, 19];
/** Runs before the first step, on both days: a day with fewer than 1,000 rows is not sealed. */
const FIRST_RUNS = 2400;
const LONG = 80;
const SHORT = 40;
const PATCHES = 60;
const DELETED = 20;
const BATCH = 400;
const TEXT_BYTES = 900;
const EXPORT_MS = 240_000;
const SETTLE_MS = 120_000;
const POLL_MS = 200;

export class OldDays {
  readonly #server: Server;
  readonly #random: Random;
  readonly #project: string;
  readonly #destination: string;
  readonly #days: string[];
  /** Runs of long-lived traces, with the version of their last change that was accepted. */
  readonly #long: Sent[] = [];
  readonly #short = new Set<string>();
  readonly findings: string[] = [];

  private constructor(server: Server, random: Random, project: string, destination: string) {
    this.#server = server;
    this.#random = random;
    this.#project = project;
    this.#destination = destination;
    this.#days = AGES.map((age) => new Date(Date.now() - age * DAY_MS).toISOString().slice(0, 10));
  }

  /** Creates the project with its first runs. */
  static async open(server: Server, { s3 }: StackInfo, random: Random): Promise<OldDays> {
    const { bucket: bucket_name, endpoint: endpoint_url, region, ...credentials } = s3;
    const project = await server.json<{ id: string }>("POST", "/api/v1/sessions", { name: "old" });
    const config = { bucket_name, endpoint_url, region, prefix: "soak" };
    const destination = await server.json<{ id: string }>(
      "POST",
      "/api/v1/bulk-exports/destinations",
      { destination_type: "s3", display_name: "soak", config, credentials },
    );
    const days = new OldDays(server, random, project.id, destination.id);
    for (let sent = 0; sent < FIRST_RUNS; sent += BATCH) await days.#send(BATCH, 0, 0);
    return days;
  }

  get size(): number {
    return this.#long.length;
  }

  /** Adds runs of both tiers, and changes earlier ones. */
  ingest(): Promise<void> {
    return this.#send(LONG, SHORT, PATCHES);
  }

  async #send(long: number, short: number, patches: number): Promise<void> {
    const added = Array.from({ length: long }, () => this.#newRun());
    const brief = Array.from({ length: short }, () => this.#newRun());
    const changed = new Set<Sent>();
    for (let n = 0; n < Math.min(patches, this.size); n++) {
      const run = this.#long[this.#random.upTo(this.size - 1)];
      if (run) changed.add(run);
    }
    for (const run of changed) run.version += 1;
    const tiered = (runs: Sent[], trace_tier: string) =>
      runs.map((run) => ({ ...this.#toWire(run), trace_tier }));
    await this.#server.json("POST", "/runs/batch", {
      post: [...tiered(added, "longlived"), ...tiered(brief, "shortlived")],
      patch: [...changed].map((run) => this.#toWire(run)),
    });
    this.#long.push(...added);
    for (const { id } of brief) this.#short.add(id);
  }

  #newRun(): Sent {
    const day = this.#days[this.#random.upTo(this.#days.length - 1)] ?? "";
    const start = Date.parse(day) + this.#random.upTo(DAY_MS - 1000);
    const time = start.toString(16).padStart(12, "0");
    const id = `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`;
    return { id, start, version: 0 };
  }

  #toWire({ id, start, version }: Sent) {
    const order = new Date(start).toISOString().replace(/[-:.Z]/g, "");
    return {
      ...{ id, trace_id: id, dotted_order: `${order}000Z${id}`, session_id: this.#project },
      ...{ name: "step", run_type: "chain", end_time: new Date(start + 40).toISOString() },
      start_time: new Date(start).toISOString(),
      outputs: { version, text: randomText() },
    };
  }

  /** Exports both days, which seals them. */
  async seal(): Promise<void> {
    const rows = await this.#export();
    const most = this.size + this.#short.size;
    if (rows >= this.size && rows <= most) return;
    this.findings.push(`an export has ${rows} rows of ${this.size} to ${most} runs`);
  }

  async #export(): Promise<number> {
    const [first = "", last = ""] = this.#days;
    const { id } = await this.#server.json<Export>("POST", "/api/v1/bulk-exports", {
      bulk_export_destination_id: this.#destination,
      session_id: this.#project,
      start_time: `${first}T00:00:00Z`,
      end_time: new Date(Date.parse(last) + DAY_MS).toISOString(),
    });
    for (const deadline = performance.now() + EXPORT_MS; ; await pause(POLL_MS)) {
      const path = `/api/v1/bulk-exports/${id}`;
      const { status, error, progress } = await this.#server.json<Export>("GET", path);
      if (status === "COMPLETED") return progress.rows_written;
      if (!["CREATED", "RUNNING"].includes(status) || performance.now() > deadline) {
        this.findings.push(`the export ${id} is ${status}: ${JSON.stringify(error)}`);
        return this.size;
      }
    }
  }

  /** Runs the alarms of quiet partitions: compaction, bodies to R2, deletion of what is left over. */
  async ring(): Promise<void> {
    for (const day of this.#days) await this.#call("ring", day);
  }

  async expire(): Promise<void> {
    for (const day of this.#days) await this.#call("expire", day);
  }

  /** Deletes long-lived traces of both days, which no later read may find. */
  async delete(): Promise<void> {
    const first = this.#random.upTo(Math.max(0, this.size - DELETED));
    const trace_ids = this.#long.splice(first, DELETED).map(({ id }) => id);
    await this.#server.json("POST", "/api/v1/runs/delete", {
      session_id: this.#project,
      trace_ids,
    });
  }

  #call<T>(what: string, day = ""): Promise<T> {
    const query = new URLSearchParams({ project: this.#project, day });
    return this.#server.json<T>("POST", `/soak/${what}?${query}`);
  }

  /** Reads all runs and compares them with those that were sent. Adds findings. Returns the ids that were read. */
  async check(when: string): Promise<string[]> {
    const found = new Map<string, number>();
    const doubled: string[] = [];
    for (const { id, outputs } of await this.#readAll()) {
      if (found.has(id)) doubled.push(id);
      found.set(id, outputs?.version ?? -1);
    }
    const lost = this.#long.filter(({ id }) => !found.has(id));
    const stale = this.#long.filter(({ id, version }) => (found.get(id) ?? version) !== version);
    const known = new Set([...this.#long.map(({ id }) => id), ...this.#short]);
    const strange = [...found.keys()].filter((id) => !known.has(id));
    const counts = { lost, doubled, stale, strange };
    for (const [name, runs] of Object.entries(counts)) {
      if (runs.length > 0) this.findings.push(`${runs.length} runs are ${name} ${when}`);
    }
    return [...found.keys()];
  }

  async #readAll(): Promise<RunRow[]> {
    const rows: RunRow[] = [];
    const query = { session: [this.#project], limit: 100, select: ["id", "outputs"] };
    let cursor: string | null = null;
    do {
      const page: Page = await this.#server.json("POST", "/api/v1/runs/query", {
        ...query,
        cursor,
      });
      rows.push(...page.runs);
      cursor = page.cursors.next;
    } while (cursor !== null);
    return rows;
  }

  /** Lets all work end, compares R2 with what the partitions know, and deletes the project. */
  async settle(): Promise<void> {
    await this.#until("short-lived runs are left", async () => {
      await this.expire();
      await this.ring();
      return (await this.check("at the end")).some((id) => this.#short.has(id));
    });
    const rows = await this.#export();
    if (rows !== this.size) this.findings.push(`the last export has ${rows} rows of ${this.size}`);
    await this.#until("R2 and the partitions differ", async () => {
      await this.ring();
      const known = await Promise.all(this.#days.map((day) => this.#call<string[]>("keys", day)));
      const stored = await this.#call<string[]>("objects");
      return JSON.stringify(stored.sort()) !== JSON.stringify(known.flat().sort());
    });
    const stored = await this.#call<string[]>("objects");
    if (stored.length === 0) this.findings.push("R2 has no object of the days: nothing was tested");
    await this.#server.call("DELETE", `/api/v1/sessions/${this.#project}`);
    await this.#until("objects of the deleted project are left", async () => {
      return (await this.#call<string[]>("objects")).length > 0;
    });
  }

  async #until(finding: string, isOpen: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + SETTLE_MS;
    while (await isOpen()) {
      if (performance.now() > deadline) return void this.findings.push(finding);
      await pause(POLL_MS);
    }
  }
}

/** Returns random text, which compression hardly shortens, so that bodies are large enough for R2. */
function randomText(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(TEXT_BYTES))).toString("base64");
}
