import type { CheckpointQuery, LoadedCheckpoint } from "../../../../isolate/checkpoint-contract.ts";
import type { Op } from "../../../../isolate/contract.ts";
import { newId } from "../../../../shared/storage/ids.ts";
import type { StoredRun } from "../../contract/stored-run.ts";
import { MAX_CHECKPOINT_BYTES, MAX_PAGE_BYTES } from "../boundary/limits.ts";
import type { ThreadTables } from "../log/lazy-tables.ts";
import type { Parts } from "../log/parts.ts";
import { ByteBudget } from "./byte-budget.ts";
import { ChannelValues } from "./channel-values.ts";
import { checkpointTooLarge, filterByMetadata } from "./checkpoint-page.ts";
import { CheckpointRows } from "./checkpoint-rows.ts";
import { NewestHead } from "./newest-head.ts";
import { PendingWrites } from "./pending-writes.ts";
import { keepLatest } from "./prune.ts";
import type { NewWrite } from "./replaced-writes.ts";
import {
  CHECKPOINT_COLUMNS,
  type CheckpointColumns,
  type CheckpointRow,
  fromColumns,
  type NewCheckpoint,
} from "./row-format.ts";

/** A smaller database has no large state: see `headBytes`. */
const SMALL_DATABASE_BYTES = 512 * 1024;
/** Smaller states need no admission. */
const SMALL_STATE_BYTES = 128 * 1024;

type PageQuery = CheckpointQuery & { limit: number };

/** Checkpoints of all namespaces, with their values and writes. */
export class Checkpoints {
  readonly #sql: SqlStorage;
  readonly #tables: ThreadTables;
  readonly #values: ChannelValues;
  readonly #rows: CheckpointRows;
  readonly #writes: PendingWrites;
  readonly #head = new NewestHead();
  #version = 0;
  #deletions: string | null = null;

  constructor(tables: ThreadTables, parts: Parts) {
    this.#sql = tables.sql;
    this.#tables = tables;
    this.#values = new ChannelValues(tables, parts);
    this.#rows = new CheckpointRows(tables.sql, this.#values, this.#head);
    this.#writes = new PendingWrites(tables, parts);
  }

  /** Skips the first read: the tables are empty. */
  startEmpty() {
    this.#head.startEmpty();
  }

  /** Called after changes by others too, such as the deletion of the thread. */
  clearCache() {
    this.#version += 1;
    this.#head.forget();
    this.#writes.clearCache();
  }

  /** `hasRoot`: whether the batch has a checkpoint of the root graph. */
  apply(run_id: string | null, ops: Op[]): { hasRoot: boolean } {
    const checkpoints = ops.filter((op) => op.op === "checkpoint");
    const writes = ops.flatMap((op) =>
      op.op === "writes"
        ? op.writes.map((write) => ({ ...write, ns: op.ns, checkpoint_id: op.checkpoint_id }))
        : [],
    );
    this.put(run_id, checkpoints, writes);
    return { hasRoot: checkpoints.some(({ ns }) => ns === "") };
  }

  /** Number of changes since the object is in memory. Readers compare it to find whether the state has changed. */
  get version(): number {
    return this.#version;
  }

  put(run_id: string | null, checkpoints: NewCheckpoint[], writes: NewWrite[]) {
    this.#version += 1;
    const others = this.#rows.put(run_id, checkpoints, writes);
    if (this.#writes.put(run_id, others)) this.#deletions = null;
    this.#head.forgetIfWritten(writes);
  }

  /**
   * Changes with each deletion of checkpoints, with each answer or interrupt that replaces that of an earlier run, and
   * with a restart of the object.
   */
  get deletions(): string {
    this.#deletions ??= newId();
    return this.#deletions;
  }

  #beginDeletion() {
    this.#version += 1;
    this.#deletions = null;
  }

  keepLatest() {
    this.#beginDeletion();
    this.clearCache();
    keepLatest(this.#tables);
  }

  has(ns: string, checkpoint_id: string): boolean {
    if (this.#head.isNone) return false;
    const sql = "SELECT 1 FROM checkpoints WHERE ns = ? AND checkpoint_id = ?";
    return this.#tables.sql.exec(sql, ns, checkpoint_id).toArray().length > 0;
  }

  /** Returns a checkpoint of a namespace, the newest one for an id of `null`. @throws AppError when it is too large */
  read(ns: string, checkpoint_id: string | null): LoadedCheckpoint | null {
    if (ns === "" && checkpoint_id === null) return this.#head.loaded ?? this.#readHead();
    const [loaded] = this.list({ ns, limit: 1, ...(checkpoint_id && { checkpoint_id }) });
    return loaded ?? null;
  }

  #readHead(): LoadedCheckpoint | null {
    if (this.#head.isNone) return null;
    const [row] = this.#newest({ ns: "" });
    if (!row) return null;
    const loaded = this.#load(row, new ByteBudget(MAX_CHECKPOINT_BYTES));
    if (!loaded) throw checkpointTooLarge(row);
    this.#head.keep(loaded, row.inline_values);
    return loaded;
  }

  /**
   * Returns at most `limit` checkpoints, newest first; ids of checkpoints sort by time. The page is shorter
   * when more would not fit one message.
   * @throws AppError when the first of them alone does not fit, or `metadata` makes it read too much
   */
  list({ limit, metadata, ...query }: PageQuery): LoadedCheckpoint[] {
    if (this.#head.isNone) return [];
    const page: LoadedCheckpoint[] = [];
    const budget = new ByteBudget(MAX_CHECKPOINT_BYTES);
    for (const row of filterByMetadata(this.#newest(query), metadata)) {
      if (page.length === limit || budget.used > MAX_PAGE_BYTES) break;
      const loaded = this.#load(row, budget);
      if (loaded) page.push(loaded);
      else if (page.length === 0) throw checkpointTooLarge(row);
      else break;
    }
    return page;
  }

  // Only the conditions that apply: SQLite does not use the key for `? IS NULL OR ns = ?`.
  *#newest({ ns, checkpoint_id, before_id }: CheckpointQuery): Iterable<CheckpointRow> {
    const values = {
      "ns = ?": ns,
      "checkpoint_id = ?": checkpoint_id,
      "checkpoint_id < ?": before_id,
    };
    const given = Object.entries(values).filter(([, value]) => value !== undefined);
    const where = ["1", ...given.map(([condition]) => condition)].join(" AND ");
    const rows = this.#sql.exec<CheckpointColumns>(
      `SELECT ${CHECKPOINT_COLUMNS} FROM checkpoints WHERE ${where} ORDER BY checkpoint_id DESC`,
      ...given.map(([, value]) => value),
    );
    for (const row of rows) yield fromColumns(row);
  }

  /** @returns `null` when the checkpoint takes more than is left */
  #load(row: CheckpointRow, budget: ByteBudget): LoadedCheckpoint | null {
    if (!budget.take(row.checkpoint.length + row.metadata.length)) return null;
    const values = this.#values.read(row, budget);
    const writes = values && this.#writes.read(row, budget);
    const { inline_values: _v, inline_writes: _w, ...checkpoint } = row;
    return values && writes && { ...checkpoint, values, writes };
  }

  /**
   * Returns the bytes of the values that the newest state of the root graph loads, and 0 for a small one. Values in the
   * row of its checkpoint do not count. Values of 4 KiB and more are stored uncompressed, so a small database has no
   * large state.
   */
  headBytes(): number {
    if (this.#isSmall()) return 0;
    const [head] = this.#newest({ ns: "" });
    const bytes = head === undefined ? 0 : this.#values.bytesOf(head);
    return bytes < SMALL_STATE_BYTES ? 0 : bytes;
  }

  #isSmall(): boolean {
    // A head in memory is small, as `NewestHead` keeps no other.
    const isKept = this.#head.isNone || this.#head.loaded !== null;
    return isKept || this.#sql.databaseSize < SMALL_DATABASE_BYTES;
  }

  /** `ns`: a namespace, `null` for any. */
  hasAnyOf(run_id: string, ns: string | null = null): boolean {
    const { found } = this.#sql
      .exec<{ found: number }>(
        `SELECT EXISTS(
           SELECT 1 FROM checkpoints WHERE run_id = ?1 AND (?2 IS NULL OR ns = ?2)) AS found`,
        run_id,
        ns,
      )
      .one();
    return found === 1;
  }

  /**
   * Deletes the answers that a run has given and the interrupts that followed: its next attempt answers again. Answers
   * of ended tasks stay, as these tasks do not run again.
   */
  deleteAnswersOf(run_id: string) {
    this.#version += 1;
    this.#head.forget();
    const answered = this.#writes.answeredBy(run_id).flatMap((key) => [...this.#newest(key)]);
    this.#writes.deleteAnswersOf(run_id, answered);
  }

  /**
   * Deletes the checkpoints of a run and its writes onto checkpoints of other runs. Values that other checkpoints use
   * stay. When another run is running and has no checkpoint, it takes over the checkpoints that it may have begun from.
   */
  deleteOf(run_id: string, running: StoredRun | null = null) {
    this.#beginDeletion();
    this.#head.forget();
    const isOther = running !== null && running.run_id !== run_id;
    if (isOther && !this.hasAnyOf(running.run_id)) this.#passOn(run_id, running);
    this.#sql.exec("DELETE FROM checkpoints WHERE run_id = ?", run_id);
    this.#values.deleteUnused(run_id);
    this.#writes.deleteOf(run_id);
  }

  /** A run sends only what it changes: the rest of its state is in the checkpoint that it began from. */
  #passOn(run_id: string, heir: StoredRun) {
    const { checkpoint_id } = heir.kwargs.config.configurable ?? {};
    const passed = this.#sql
      .exec<{ key: string }>(
        `UPDATE checkpoints SET run_id = ?2 WHERE run_id = ?1 AND checkpoint_id IN (?3,
           (SELECT max(checkpoint_id) FROM checkpoints AS newest WHERE newest.ns = checkpoints.ns))
         RETURNING ns || ' ' || checkpoint_id AS key`,
        run_id,
        heir.run_id,
        String(checkpoint_id ?? ""),
      )
      .toArray();
    if (passed.length === 0) return;
    const keys = JSON.stringify(passed.map(({ key }) => key));
    this.#writes.passOn(run_id, heir.run_id, keys);
    this.#values.passOn(run_id, heir.run_id);
  }
}
