import { MemoryBudget } from "../../shared/work/memory-budget.ts";
import {
  MAX_WRITER_BYTES,
  MIN_WRITER_BYTES,
  SMALL_WRITERS_BYTES,
  WRITER_BYTES_PER_BYTE,
  WRITER_BYTES_PER_ROW,
} from "../limits.ts";
import type { FileRow } from "../table.ts";

/** Maximum wait for memory. After it, the file is left to another isolate. */
const MAX_WAIT_MS = 20_000;

let isPerWorkspace = false;
const budgets = new Map<string, MemoryBudget>();

/** Gives each workspace its own budget, for a process with more memory than an isolate of the platform. */
export function separateWriters(): void {
  isPerWorkspace = true;
}

/**
 * Admits one writer of a large file in an isolate at a time, beside small ones.
 * @throws AppError `unavailable` after the wait
 */
export function holdWriterMemory<T>(file: FileRow, write: () => Promise<T>): Promise<T> {
  return budgetOf(file).hold(async (reserve) => {
    await reserve(writerBytes(file));
    return write();
  });
}

function writerBytes({ rows_planned, chunk }: FileRow): number {
  const by_rows = rows_planned * WRITER_BYTES_PER_ROW;
  const by_bytes = chunk.bytes * WRITER_BYTES_PER_BYTE;
  return Math.min(MAX_WRITER_BYTES, Math.max(MIN_WRITER_BYTES, by_rows, by_bytes));
}

function budgetOf({ workspace_id }: FileRow): MemoryBudget {
  const key = isPerWorkspace ? workspace_id : "";
  const budget = budgets.get(key) ?? new MemoryBudget(SMALL_WRITERS_BYTES, MAX_WAIT_MS);
  budgets.set(key, budget);
  return budget;
}
