import type { PartitionKey } from "../changes.ts";
import type { Columns, Pointers, TraceRunRow } from "../rows/rows.ts";
import { tracePartition } from "./stub.ts";

type Match = { partition: PartitionKey; row: TraceRunRow };

const LARGE = ["inputs", "outputs", "extra", "events", "serialized", "error"] as const;
/** Limit of one answer with its payloads in R2: an isolate has 128 MB. The first run of an answer may exceed it. */
const MAX_CHARS = 16_000_000;

export function smallColumns(columns: Columns): Columns {
  return columns.filter((name) => !isLarge(name));
}

/**
 * Adds the large columns to the first matches: at least one, then as many as fit an answer. Omits deleted runs.
 * `isCut`: some matches did not fit.
 */
export async function withLargeColumns<T extends Match>(
  env: Env,
  matches: T[],
  columns: Columns,
): Promise<{ page: T[]; isCut: boolean }> {
  const large = columns.filter(isLarge);
  if (large.length === 0) return { page: matches, isCut: false };
  const rows = new Map<string, TraceRunRow | null>();
  const page: T[] = [];
  let chars = 0;
  for (const [n, match] of matches.entries()) {
    if (!rows.has(keyOf(match))) await readNext(env, matches.slice(n), large, rows);
    const read = rows.get(keyOf(match));
    rows.set(keyOf(match), null);
    if (!read) continue;
    const row = { ...match.row, ...read };
    chars += sizeOf(row, large);
    if (page.length > 0 && chars > MAX_CHARS) return { page, isCut: true };
    page.push({ ...match, row });
  }
  return { page, isCut: false };
}

/** Reads the next runs of the partition of the first match. A run that was deleted is `null`. */
async function readNext(
  env: Env,
  matches: Match[],
  large: Columns,
  rows: Map<string, TraceRunRow | null>,
): Promise<void> {
  const [first] = matches;
  if (!first) return;
  const { partition } = first;
  const prefix = keyOf({ partition, row: { id: "" } });
  const here = matches.filter((match) => keyOf(match).startsWith(prefix));
  const ids = here.map(({ row }) => row.id);
  const { runs, read } = await tracePartition(env, partition).getRuns(ids, ["id", ...large]);
  for (const id of ids.slice(0, read)) rows.set(prefix + id, null);
  for (const row of runs) rows.set(prefix + row.id, row);
}

function sizeOf(row: TraceRunRow, large: (typeof LARGE)[number][]): number {
  const pointers: Pointers = row.pointers ? JSON.parse(row.pointers) : {};
  const sizes = large.map((name) => {
    const stored = name === "error" ? 0 : (pointers[name]?.bytes ?? 0);
    return stored + (row[name]?.length ?? 0);
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

function keyOf({ partition, row }: { partition: PartitionKey; row: { id: string } }): string {
  return `${partition.project_id}/${partition.day}/${partition.slot}/${row.id}`;
}

function isLarge(name: keyof TraceRunRow): name is (typeof LARGE)[number] {
  return (LARGE as readonly string[]).includes(name);
}
