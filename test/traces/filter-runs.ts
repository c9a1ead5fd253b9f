import { digestExtra, digestInputs, digestOutputs } from "../../src/traces/digest.ts";
import { MIGRATIONS } from "../../src/traces/storage/migrations.ts";
import { termOf } from "../../src/traces/terms.ts";
/** Trace run as filters read it, with its rows as ingestion writes them. */
export type TestFeedback = {
  key: string;
  score: number | null;
  value?: string;
  source?: string;
};

export type TestRun = {
  id: string;
  trace_id: string;
  parent_run_id: string | null;
  name: string;
  run_type: string;
  /** ISO text or epoch microseconds. */
  start: string | number;
  end: string | number | null;
  error: string | null;
  is_root: boolean;
  thread_id: string | null;
  execution_order: number | null;
  total_tokens: number | null;
  total_cost: string | null;
  tags: string[];
  metadata: Record<string, unknown>;
  inputs: Record<string, unknown>;
  outputs: Record<string, unknown>;
  feedback: TestFeedback[];
};

export function testRun(id: string, fields: Partial<TestRun> = {}): TestRun {
  const start = fields.start ?? "2024-06-01T10:00:00Z";
  return {
    id,
    trace_id: id,
    parent_run_id: fields.is_root ? null : "parent",
    name: "step",
    run_type: "chain",
    end: micros(start) + 1_000_000,
    error: null,
    is_root: false,
    thread_id: null,
    execution_order: null,
    total_tokens: null,
    total_cost: null,
    tags: [],
    metadata: {},
    inputs: {},
    outputs: {},
    feedback: [],
    ...fields,
    start,
  };
}

export function micros(time: string | number): number {
  if (typeof time === "number") return time;
  const [whole = "", fraction = ""] = time.replace("Z", "").split(".");
  return Date.parse(`${whole}Z`) * 1000 + Number(fraction.padEnd(6, "0"));
}

export type TestPair = { key: string; value: string; number: number | null };

export function pairsOf(value: unknown, path = ""): TestPair[] {
  if (Array.isArray(value)) return value.flatMap((item) => pairsOf(item, path));
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([key, inner]) =>
      pairsOf(inner, path === "" ? key : `${path}.${key}`),
    );
  }
  const number = typeof value === "number" ? value : null;
  return [{ key: path, value: String(value).slice(0, 250), number }];
}

export function searchTextOf(run: TestRun): string {
  const texts = [run.name, run.error ?? ""];
  for (const { value } of [...pairsOf(run.inputs), ...pairsOf(run.outputs)]) texts.push(value);
  return texts.join("\n").toLowerCase();
}

const TABLES = [
  ...["metadata_pairs", "input_pairs", "output_pairs", "run_usage"].map(
    (name) => `DROP VIEW IF EXISTS ${name}`,
  ),
  ...["runs", "run_digests", "run_terms", "feedback", "leftovers"].map(
    (name) => `DROP TABLE IF EXISTS ${name}`,
  ),
  ...MIGRATIONS.flatMap((step) => step.split(";")).filter((sql) => sql.trim() !== ""),
];

export async function storeRuns(db: D1Database, runs: TestRun[]): Promise<void> {
  await db.batch(TABLES.map((sql) => db.prepare(sql)));
  const statements = runs.flatMap((run, index) => rowsOf(db, run, index + 1));
  await db.batch(statements);
}

function rowsOf(db: D1Database, run: TestRun, row: number): D1PreparedStatement[] {
  const end_us = run.end === null ? null : micros(run.end);
  const ended = end_us === null ? "pending" : "success";
  const columns = {
    row,
    id: run.id,
    trace_id: run.trace_id,
    parent_run_id: run.parent_run_id,
    name: run.name,
    run_type: run.run_type,
    start_us: micros(run.start),
    end_us,
    status: run.error === null ? ended : "error",
    error: run.error,
    is_root: run.is_root ? 1 : 0,
    thread_id: run.thread_id,
    execution_order: run.execution_order,
    total_tokens: run.total_tokens,
    total_cost: run.total_cost,
    tags: JSON.stringify(run.tags),
    search_text: searchTextOf(run),
    seq: row,
    changed_seq: row,
    patched: 0,
  };
  const insert = (table: string, values: Record<string, string | number | null>) =>
    db
      .prepare(
        `INSERT INTO ${table} (${Object.keys(values).join()})
         VALUES (${Object.keys(values).fill("?").join()})`,
      )
      .bind(...Object.values(values));
  const [metadata, inputs, outputs] = [
    digestExtra({ metadata: run.metadata }),
    digestInputs(run.inputs),
    digestOutputs(run.outputs),
  ];
  const digests = { metadata: metadata.pairs, inputs: inputs.pairs, outputs: outputs.pairs };
  const tags = run.tags.map((tag) => termOf("tag", "", tag));
  const terms = new Set([...metadata.terms, ...inputs.terms, ...outputs.terms, ...tags]);
  return [
    insert("runs", columns),
    insert("run_digests", { row, ...digests }),
    ...[...terms].map((term) => insert("run_terms", { term, row })),
    ...run.feedback.map((given, index) =>
      insert("feedback", {
        id: `${run.id}-${index}`,
        run_id: run.id,
        key: given.key,
        score: given.score,
        value: given.value ?? null,
        source: given.source ?? null,
        body: "{}",
        created_at: new Date(micros(run.start) / 1000).toISOString(),
      }),
    ),
  ];
}
