import type {
  CheckpointQuery,
  LoadedCheckpoint,
  StoredCheckpoint,
  StoredValue,
  StoredWrite,
} from "../../../../isolate/contract.ts";
import { MAX_CHECKPOINT_BYTES, MAX_PAGE_BYTES } from "../../boundary/limits.ts";
import { insertRows } from "../../log/insert.ts";
import type { Parts } from "../../log/parts.ts";
import { ChannelValues } from "./channel-values.ts";
import { ByteBudget, checkpointTooLarge, ENTRY_BYTES, matching } from "./checkpoint-page.ts";
import { type NewWrite, ReplacedWrites } from "./replaced-writes.ts";

type WriteRow = {
  task_id: string;
  path: string;
  idx: number;
  channel: string;
  type: string;
  data: ArrayBuffer | null;
};

export type NewCheckpoint = StoredCheckpoint & { values: StoredValue[] };
type PageQuery = CheckpointQuery & { limit: number };
const INSERT_CHECKPOINT =
  "INSERT INTO checkpoints (ns, checkpoint_id, parent_id, run_id, checkpoint, metadata)";
const REPLACE_CHECKPOINT =
  "ON CONFLICT DO UPDATE SET checkpoint = excluded.checkpoint, metadata = excluded.metadata";
const INTO_WRITES =
  "INTO writes (ns, checkpoint_id, task_id, path, idx, run_id, channel, type, data)";

/** Checkpoints of all namespaces, with their values and writes. */
export class Checkpoints {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;
  readonly #values: ChannelValues;
  readonly #replaced: ReplacedWrites;
  /** Saves a query for threads without checkpoints. */
  #isEmpty = false;

  constructor(sql: SqlStorage, parts: Parts) {
    this.#sql = sql;
    this.#parts = parts;
    this.#values = new ChannelValues(sql, parts);
    this.#replaced = new ReplacedWrites(sql);
  }

  /** Skips the first read: the tables are new. */
  startEmpty() {
    this.#isEmpty = true;
  }

  clearCache() {
    this.#isEmpty = false;
  }

  put(run_id: string | null, checkpoints: NewCheckpoint[]) {
    if (checkpoints.length > 0) this.#isEmpty = false;
    const rows = checkpoints.map(({ ns, checkpoint_id, parent_id, checkpoint, metadata }) => [
      ns,
      checkpoint_id,
      parent_id,
      run_id,
      checkpoint,
      metadata,
    ]);
    insertRows(this.#sql, INSERT_CHECKPOINT, rows, REPLACE_CHECKPOINT);
    this.#values.put(run_id, checkpoints);
  }

  // Special writes (errors, interrupts, resumes) have a negative idx and replace; a task's own writes never change.
  putWrites(run_id: string | null, writes: NewWrite[]) {
    const toRow = ({ ns, checkpoint_id, task_id, path, idx, channel, type, data }: NewWrite) => {
      const name = writeName(ns, checkpoint_id, task_id, idx);
      const column = this.#parts.put(name, data);
      return [ns, checkpoint_id, task_id, path, idx, run_id, channel, type, column];
    };
    const special = writes.filter(({ idx }) => idx < 0);
    if (run_id !== null) this.#replaced.save(run_id, special);
    const own = writes.filter(({ idx }) => idx >= 0);
    insertRows(this.#sql, `INSERT OR REPLACE ${INTO_WRITES}`, special.map(toRow));
    insertRows(this.#sql, `INSERT OR IGNORE ${INTO_WRITES}`, own.map(toRow));
  }

  /** Returns a checkpoint of a namespace, the newest without an id. */
  read(ns: string, checkpoint_id: string | null): LoadedCheckpoint | null {
    const [loaded] = this.list({ ns, limit: 1, ...(checkpoint_id && { checkpoint_id }) });
    return loaded ?? null;
  }

  /**
   * Returns at most `limit` checkpoints, newest first; ids of checkpoints sort by time. The page is shorter
   * when more would not fit one message.
   * @throws AppError when the first of them alone does not fit
   */
  list({ limit, metadata, ...query }: PageQuery): LoadedCheckpoint[] {
    if (this.#isEmpty) return [];
    const page: LoadedCheckpoint[] = [];
    const budget = new ByteBudget(MAX_CHECKPOINT_BYTES);
    for (const row of matching(this.#newest(query), metadata)) {
      if (page.length === limit || budget.used > MAX_PAGE_BYTES) break;
      const loaded = this.#load(row, budget);
      if (loaded) page.push(loaded);
      else if (page.length === 0) throw checkpointTooLarge(row);
      else break;
    }
    return page;
  }

  #newest({ ns, checkpoint_id, before_id }: CheckpointQuery): Iterable<StoredCheckpoint> {
    return this.#sql.exec<StoredCheckpoint>(
      `SELECT ns, checkpoint_id, parent_id, checkpoint, metadata FROM checkpoints
       WHERE (?1 IS NULL OR ns = ?1) AND (?2 IS NULL OR checkpoint_id = ?2)
         AND (?3 IS NULL OR checkpoint_id < ?3)
       ORDER BY checkpoint_id DESC`,
      ns ?? null,
      checkpoint_id ?? null,
      before_id ?? null,
    );
  }

  /** @returns `null` when the checkpoint takes more than is left */
  #load(row: StoredCheckpoint, budget: ByteBudget): LoadedCheckpoint | null {
    if (!budget.take(row.checkpoint.length + row.metadata.length)) return null;
    const values = this.#values.read(row, budget);
    const writes = values && this.#writes(row, budget);
    return values && writes && { ...row, values, writes };
  }

  #writes({ ns, checkpoint_id }: StoredCheckpoint, budget: ByteBudget): StoredWrite[] | null {
    const rows = this.#sql.exec<WriteRow>(
      `SELECT task_id, path, idx, channel, type, data FROM writes
       WHERE ns = ? AND checkpoint_id = ? ORDER BY rowid`,
      ns,
      checkpoint_id,
    );
    const writes: StoredWrite[] = [];
    for (const { data, ...row } of rows) {
      const name = writeName(ns, checkpoint_id, row.task_id, row.idx);
      const whole = this.#parts.bytes(name, data);
      if (!budget.take(whole.byteLength + ENTRY_BYTES)) return null;
      writes.push({ ...row, data: whole });
    }
    return writes;
  }

  hasAnyOf(run_id: string): boolean {
    const { found } = this.#sql
      .exec<{ found: number }>(
        "SELECT EXISTS(SELECT 1 FROM checkpoints WHERE run_id = ?) AS found",
        run_id,
      )
      .one();
    return found === 1;
  }

  /**
   * Deletes the checkpoints of a run and its writes onto checkpoints of other runs. Values that other
   * checkpoints use stay.
   */
  deleteOf(run_id: string) {
    this.#sql.exec("DELETE FROM checkpoints WHERE run_id = ?", run_id);
    this.#values.deleteUnused(run_id);
    this.#sql.exec("DELETE FROM writes WHERE run_id = ?", run_id);
    this.#replaced.restore(run_id);
  }
}

function writeName(ns: string, checkpoint_id: string, task_id: string, idx: number): string {
  return `write ${ns} ${checkpoint_id} ${task_id} ${idx}`;
}
