import type { StoredWrite } from "../../../../isolate/checkpoint-contract.ts";
import { insertRows } from "../log/insert.ts";
import type { ThreadTables } from "../log/lazy-tables.ts";
import { PART_BYTES, type Parts } from "../log/parts.ts";
import { type ByteBudget, ENTRY_BYTES } from "./byte-budget.ts";
import { pack, unpack } from "./packed.ts";
import { type NewWrite, ReplacedWrites } from "./replaced-writes.ts";
import type { CheckpointRow } from "./row-format.ts";
import { keyOfWrite, StoredKeys, type WriteKeys } from "./stored-keys.ts";

type WriteRow = Omit<StoredWrite, "data"> & { data: ArrayBuffer | null };

const INTO_WRITES =
  "INTO writes (ns, checkpoint_id, task_id, path, idx, run_id, channel, type, data)";

const IS_ANSWER_OR_INTERRUPT = "idx < 0 AND channel IN ('__resume__', '__interrupt__')";

/** LangGraph's id for writes of an input or a command, which belong to no task. */
const INPUT_TASK = "00000000-0000-0000-0000-000000000000";
/** Channel of a write that a failed task leaves beside its error. */
const ERROR_SOURCE = "__error_source_node__";

/** `task_id` of a row with several writes. Writes of agents that name such a task are in such rows too. */
const PACKED = "";
/** Longer writes have their own rows. */
const MAX_PACKED_BYTES = 4096;

/**
 * Pending writes of tasks. Short results that are committed with their checkpoint are in its row, if they fit. All
 * others are in `writes`. There, several short results that one batch has for a checkpoint share a row.
 */
export class PendingWrites {
  readonly #sql: SqlStorage;
  readonly #tables: ThreadTables;
  readonly #parts: Parts;
  readonly #replaced: ReplacedWrites;
  readonly #keys = new StoredKeys();

  constructor(tables: ThreadTables, parts: Parts) {
    this.#sql = tables.sql;
    this.#tables = tables;
    this.#parts = parts;
    this.#replaced = new ReplacedWrites(tables);
  }

  clearCache() {
    this.#keys.clear();
  }

  /**
   * Special writes (errors, interrupts, resumes) have a negative idx and replace earlier ones. Others never change.
   * @returns whether writes of another run were replaced
   */
  put(run_id: string | null, writes: NewWrite[]): boolean {
    if (writes.length === 0) return false;
    this.#tables.create("writes");
    const toRow = ({ ns, checkpoint_id, task_id, path, idx, channel, type, data }: NewWrite) => {
      const name = writeName(ns, checkpoint_id, task_id, idx);
      const column = idx < 0 ? this.#parts.replace(name, data) : this.#parts.put(name, data);
      return [ns, checkpoint_id, task_id, path, idx, run_id, channel, type, column];
    };
    const special = writes.filter(({ idx }) => idx < 0);
    const hasReplaced = this.#replaced.save(run_id, special);
    const own = Map.groupBy(
      writes.filter(({ idx }) => idx >= 0),
      ({ ns, checkpoint_id }) => JSON.stringify([ns, checkpoint_id]),
    );
    const rows = [...own.values()]
      .flatMap((group) => this.#packShort(group))
      .filter((row) => !this.#isLargeAndStored(row));
    insertRows(this.#sql, `INSERT OR REPLACE ${INTO_WRITES}`, special.map(toRow));
    insertRows(this.#sql, `INSERT OR IGNORE ${INTO_WRITES}`, rows.map(toRow));
    this.#keys.add(writes);
    return hasReplaced;
  }

  /** Whether a large write has the key of a stored one. The stored one counts, so its parts must not be replaced. */
  #isLargeAndStored({ ns, checkpoint_id, task_id, idx, data }: NewWrite): boolean {
    if (data.byteLength <= PART_BYTES) return false;
    const sql = `SELECT 1 FROM writes
      WHERE ns = ? AND checkpoint_id = ? AND task_id = ? AND idx = ?`;
    return this.#sql.exec(sql, ns, checkpoint_id, task_id, idx).toArray().length > 0;
  }

  /** Packs short writes of one checkpoint into one row. Of several writes with a key, the first counts. */
  #packShort(writes: NewWrite[]): NewWrite[] {
    const first = new Map<string, NewWrite>();
    for (const write of writes) {
      if (!first.has(keyOfWrite(write))) first.set(keyOfWrite(write), write);
    }
    const { short = [], long = [] } = Object.groupBy(first.values(), (write) =>
      write.task_id === PACKED || write.data.byteLength <= MAX_PACKED_BYTES ? "short" : "long",
    );
    const [one, ...others] = short;
    if (!one || (others.length === 0 && one.task_id !== PACKED)) return [...short, ...long];
    const { ns, checkpoint_id } = one;
    const stored = this.#keys.of(ns, checkpoint_id, () => this.#storedKeys(ns, checkpoint_id));
    const fresh = short.filter((write) => !stored.keys.has(keyOfWrite(write)));
    if (fresh.length === 0) return long;
    const data = pack(fresh.map(({ ns: _n, checkpoint_id: _c, ...write }) => write));
    const row = {
      task_id: PACKED,
      path: "",
      idx: stored.nextPackedIdx,
      channel: "",
      type: "",
      data,
    };
    stored.nextPackedIdx += 1;
    return [{ ns, checkpoint_id, ...row }, ...long];
  }

  #storedKeys(ns: string, checkpoint_id: string): WriteKeys {
    const keys = new Set<string>();
    let nextPackedIdx = 0;
    const rows = this.#sql.exec<Pick<WriteRow, "task_id" | "idx" | "data">>(
      `SELECT task_id, idx, CASE task_id WHEN '' THEN data END AS data FROM writes
       WHERE ns = ? AND checkpoint_id = ?`,
      ns,
      checkpoint_id,
    );
    for (const row of rows) {
      if (!isPacked(row)) keys.add(keyOfWrite(row));
      else {
        const name = writeName(ns, checkpoint_id, row.task_id, row.idx);
        for (const write of unpack<StoredWrite>(this.#parts.bytes(name, row.data))) {
          keys.add(keyOfWrite(write));
        }
        // Not the number of rows: those of a run may have been deleted.
        nextPackedIdx = Math.max(nextPackedIdx, row.idx + 1);
      }
    }
    return { keys, nextPackedIdx };
  }

  /** @returns `null` when the writes exceed the budget */
  read(row: CheckpointRow, budget: ByteBudget): StoredWrite[] | null {
    const writes = new Map<string, StoredWrite>();
    for (const write of this.#all(row)) {
      const key = keyOfWrite(write);
      if (writes.has(key)) continue;
      if (!budget.take(write.data.byteLength + ENTRY_BYTES)) return null;
      writes.set(key, write);
    }
    return [...writes.values()];
  }

  /**
   * Yields writes one by one: together they may exceed the memory of an isolate. A key may repeat: the first counts.
   */
  *#all({ ns, checkpoint_id, inline_writes }: CheckpointRow): Iterable<StoredWrite> {
    yield* inline_writes;
    if (!this.#tables.has("writes")) return;
    const rows = this.#sql.exec<WriteRow>(
      `SELECT task_id, path, idx, channel, type, data FROM writes
       WHERE ns = ? AND checkpoint_id = ? ORDER BY task_id, idx`,
      ns,
      checkpoint_id,
    );
    for (const { data, ...row } of rows) {
      const name = writeName(ns, checkpoint_id, row.task_id, row.idx);
      const whole = this.#parts.bytes(name, data);
      if (isPacked(row)) yield* unpack<StoredWrite>(whole);
      else yield { ...row, data: whole };
    }
  }

  /** `checkpoints`: a JSON list of namespaces and ids, with a space between. */
  passOn(run_id: string, heir: string, checkpoints: string) {
    if (!this.#tables.has("writes")) return;
    this.#sql.exec(
      `UPDATE writes SET run_id = ?2 WHERE run_id = ?1
         AND ns || ' ' || checkpoint_id IN (SELECT value FROM json_each(?3))`,
      run_id,
      heir,
      checkpoints,
    );
  }

  /** Returns the checkpoints at which a run has answers or interrupts. */
  answeredBy(run_id: string): { ns: string; checkpoint_id: string }[] {
    if (!this.#tables.has("writes")) return [];
    return this.#sql
      .exec<{ ns: string; checkpoint_id: string }>(
        `SELECT DISTINCT ns, checkpoint_id FROM writes WHERE run_id = ? AND ${IS_ANSWER_OR_INTERRUPT}`,
        run_id,
      )
      .toArray();
  }

  /** Deletes the answers and interrupts of a run at these checkpoints, except those of ended tasks. */
  deleteAnswersOf(run_id: string, checkpoints: CheckpointRow[]) {
    for (const row of checkpoints) {
      this.#sql.exec(
        `DELETE FROM writes WHERE run_id = ? AND ns = ? AND checkpoint_id = ? AND ${IS_ANSWER_OR_INTERRUPT}
           AND task_id NOT IN (SELECT value FROM json_each(?))`,
        run_id,
        row.ns,
        row.checkpoint_id,
        JSON.stringify(this.#endedTasks(row)),
      );
    }
    // Restores the writes that the run's answers and interrupts replaced.
    if (checkpoints.length > 0) this.#replaced.restore(run_id);
  }

  #endedTasks(row: CheckpointRow): string[] {
    const ended = new Set<string>();
    for (const { task_id, idx, channel } of this.#all(row)) {
      if (idx >= 0 && channel !== ERROR_SOURCE && task_id !== INPUT_TASK) ended.add(task_id);
    }
    return [...ended];
  }

  deleteOf(run_id: string) {
    this.clearCache();
    if (!this.#tables.has("writes")) return;
    this.#sql.exec("DELETE FROM writes WHERE run_id = ?", run_id);
    this.#replaced.restore(run_id);
  }
}

function isPacked({ task_id, idx }: Pick<StoredWrite, "task_id" | "idx">): boolean {
  return task_id === PACKED && idx >= 0;
}

function writeName(ns: string, checkpoint_id: string, task_id: string, idx: number): string {
  return `write ${ns} ${checkpoint_id} ${task_id} ${idx}`;
}
