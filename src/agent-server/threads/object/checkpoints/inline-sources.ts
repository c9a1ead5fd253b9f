import type {
  StoredCheckpoint,
  StoredValue,
  StoredWrite,
} from "../../../../isolate/checkpoint-contract.ts";
import { AppError } from "../../../../shared/errors.ts";
import { MAX_ORIGINALS_BYTES } from "../boundary/limits.ts";
import type { ByteBudget } from "./byte-budget.ts";
import {
  CHECKPOINT_COLUMNS,
  type CheckpointColumns,
  type CheckpointRow,
  fromColumns,
  type NewCheckpoint,
} from "./row-format.ts";
import { keyOfValue, valueKeysOf } from "./stored-keys.ts";

/** Keys of the values of checkpoints, by checkpoint id. */
type KeysById = Map<string, Set<string>>;

const SELECT = `SELECT ${CHECKPOINT_COLUMNS} FROM checkpoints`;

/**
 * Finds values that new checkpoints share with stored ones. A new checkpoint shares values with its parent. A copy (a
 * fork of a checkpoint under a new id) shares them with its original, which has the same parent.
 */
export class InlineSources {
  readonly #sql: SqlStorage;
  readonly #budget: ByteBudget;
  readonly #values = new Map<string, StoredValue>();
  readonly #parsedKeys = new Map<NewCheckpoint, Set<string>>();
  /** Writes in the rows of checkpoints that were stored before, by checkpoint. */
  readonly #writes = new Map<string, StoredWrite[]>();

  /** @param budget limits the bytes read in search of originals */
  constructor(sql: SqlStorage, budget: ByteBudget) {
    this.#sql = sql;
    this.#budget = budget;
  }

  /** Reads the rows of the checkpoints, if they are stored, of their parents, and of the originals of copies. */
  loadValues(checkpoints: NewCheckpoint[]) {
    for (const [ns, group] of Map.groupBy(checkpoints, (checkpoint) => checkpoint.ns)) {
      const keysById = new Map(group.map((one) => [one.checkpoint_id, this.#keysOf(one)]));
      const ids = group.flatMap(({ checkpoint_id, parent_id }) => [checkpoint_id, parent_id]);
      const rows = this.#sql.exec<CheckpointColumns>(
        `${SELECT} WHERE ns = ? AND checkpoint_id IN (SELECT value FROM json_each(?))`,
        ns,
        JSON.stringify(ids),
      );
      for (const columns of rows) {
        const row = fromColumns(columns);
        const { checkpoint_id, inline_values, inline_writes } = row;
        if (keysById.has(checkpoint_id)) this.setWrites(row, inline_writes);
        else keysById.set(checkpoint_id, valueKeysOf(row));
        this.add(ns, inline_values);
      }
      for (const one of group) this.#readOriginal(one, keysById);
    }
  }

  /**
   * Adds the inline values of the original of a copy. A copy brings no values, and has versions that its parent lacks.
   */
  #readOriginal({ ns, checkpoint_id, parent_id, values }: NewCheckpoint, keysById: KeysById) {
    const parentKeys = keysById.get(parent_id ?? "");
    const newKeys = without(keysById.get(checkpoint_id), parentKeys);
    if (values.length > 0 || newKeys.length === 0) return;
    const later = this.#sql.exec<CheckpointColumns>(
      `${SELECT} WHERE ns = ?1 AND checkpoint_id > ?2 AND checkpoint_id <> ?3 ORDER BY checkpoint_id`,
      ...[ns, parent_id ?? "", checkpoint_id],
    );
    for (const columns of later) {
      const row = fromColumns(columns);
      this.#spend(row);
      const known = valueKeysOf(row);
      // The first later checkpoint that has all new versions is the original.
      if (newKeys.every((key) => known.has(key))) return this.add(ns, row.inline_values);
    }
  }

  /** @throws AppError when a commit reads too much */
  #spend({ checkpoint, inline_values }: CheckpointRow) {
    const bytes = inline_values.reduce((sum, { data }) => sum + data.byteLength, 0);
    if (this.#budget.take(checkpoint.length + bytes)) return;
    const message = `checkpoint_id: more than ${MAX_ORIGINALS_BYTES} bytes of checkpoints follow its parent; copy a newer checkpoint.`;
    throw new AppError("too_large", message);
  }

  /** Returns the writes in the row of a stored checkpoint. @returns `undefined` when the checkpoint is new */
  writesOf({ ns, checkpoint_id }: StoredCheckpoint): StoredWrite[] | undefined {
    return this.#writes.get(`${ns}\n${checkpoint_id}`);
  }

  setWrites({ ns, checkpoint_id }: StoredCheckpoint, writes: StoredWrite[]) {
    this.#writes.set(`${ns}\n${checkpoint_id}`, writes);
  }

  add(ns: string, values: StoredValue[]) {
    for (const value of values) this.#values.set(`${ns}\n${keyOfValue(value)}`, value);
  }

  /** Returns the loaded values that a checkpoint refers to and does not bring itself. */
  sharedValuesOf(checkpoint: NewCheckpoint): StoredValue[] {
    const given = new Set(checkpoint.values.map(keyOfValue));
    return without(this.#keysOf(checkpoint), given).flatMap(
      (key) => this.#values.get(`${checkpoint.ns}\n${key}`) ?? [],
    );
  }

  /** Parses a checkpoint at the first call only. */
  #keysOf(checkpoint: NewCheckpoint): Set<string> {
    const keys = this.#parsedKeys.get(checkpoint) ?? valueKeysOf(checkpoint);
    this.#parsedKeys.set(checkpoint, keys);
    return keys;
  }
}

function without(keys: Set<string> = new Set(), others: Set<string> = new Set()): string[] {
  return [...keys].filter((key) => !others.has(key));
}
