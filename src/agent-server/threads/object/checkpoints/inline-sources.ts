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
} from "./row-format.ts";

export type NewCheckpoint = StoredCheckpoint & { values: StoredValue[] };

const SELECT = `SELECT ${CHECKPOINT_COLUMNS} FROM checkpoints`;

/**
 * Values in the rows of earlier checkpoints that new checkpoints have too. They are in the row of the parent. A copy
 * has the parent of its original, and refers to the values of the original.
 */
export class InlineSources {
  readonly #sql: SqlStorage;
  readonly #budget: ByteBudget;
  readonly #values = new Map<string, StoredValue>();
  readonly #keys = new Map<NewCheckpoint, Set<string>>();
  /** Writes in the rows of checkpoints that were stored before, by checkpoint. */
  readonly #writes = new Map<string, StoredWrite[]>();

  /** @param budget limit of the checkpoints that are read to find the originals of copies */
  constructor(sql: SqlStorage, budget: ByteBudget) {
    this.#sql = sql;
    this.#budget = budget;
  }

  read(checkpoints: NewCheckpoint[]) {
    for (const [ns, group] of Map.groupBy(checkpoints, (checkpoint) => checkpoint.ns)) {
      const versions = new Map(group.map((one) => [one.checkpoint_id, this.#keysOf(one)]));
      const ids = group.flatMap(({ checkpoint_id, parent_id }) => [checkpoint_id, parent_id]);
      const rows = this.#sql.exec<CheckpointColumns>(
        `${SELECT} WHERE ns = ? AND checkpoint_id IN (SELECT value FROM json_each(?))`,
        ns,
        JSON.stringify(ids),
      );
      for (const columns of rows) {
        const row = fromColumns(columns);
        const { checkpoint_id, inline_values, inline_writes } = row;
        if (versions.has(checkpoint_id)) this.setWrites(row, inline_writes);
        else versions.set(checkpoint_id, keysOf(row));
        this.add(ns, inline_values);
      }
      for (const one of group) this.#readOriginal(one, versions);
    }
  }

  /** A copy brings no values along, and has versions that its parent does not have. */
  #readOriginal({ ns, checkpoint_id, parent_id, values }: NewCheckpoint, versions: VersionsById) {
    const inherited = versions.get(parent_id ?? "");
    const unknown = without(versions.get(checkpoint_id), inherited);
    if (values.length > 0 || unknown.length === 0) return;
    const younger = this.#sql.exec<CheckpointColumns>(
      `${SELECT} WHERE ns = ?1 AND checkpoint_id > ?2 AND checkpoint_id <> ?3 ORDER BY checkpoint_id`,
      ...[ns, parent_id ?? "", checkpoint_id],
    );
    for (const columns of younger) {
      const row = fromColumns(columns);
      this.#count(row);
      const known = keysOf(row);
      if (unknown.every((key) => known.has(key))) return this.add(ns, row.inline_values);
    }
  }

  /** @throws AppError when a commit reads too much */
  #count({ checkpoint, inline_values }: CheckpointRow) {
    const bytes = inline_values.reduce((sum, { data }) => sum + data.byteLength, 0);
    if (this.#budget.take(checkpoint.length + bytes)) return;
    const message = `checkpoint_id: more than ${MAX_ORIGINALS_BYTES} bytes of checkpoints follow its parent; copy a newer checkpoint.`;
    throw new AppError("too_large", message);
  }

  /** @returns `undefined` when the checkpoint is new */
  writesOf({ ns, checkpoint_id }: StoredCheckpoint): StoredWrite[] | undefined {
    return this.#writes.get(`${ns}\n${checkpoint_id}`);
  }

  setWrites({ ns, checkpoint_id }: StoredCheckpoint, writes: StoredWrite[]) {
    this.#writes.set(`${ns}\n${checkpoint_id}`, writes);
  }

  add(ns: string, values: StoredValue[]) {
    for (const value of values) this.#values.set(`${ns}\n${keyOfValue(value)}`, value);
  }

  /** Returns the values of earlier rows that a checkpoint has. */
  repeatedBy(checkpoint: NewCheckpoint): StoredValue[] {
    const given = new Set(checkpoint.values.map(keyOfValue));
    return without(this.#keysOf(checkpoint), given).flatMap(
      (key) => this.#values.get(`${checkpoint.ns}\n${key}`) ?? [],
    );
  }

  /** Parses a checkpoint once. */
  #keysOf(checkpoint: NewCheckpoint): Set<string> {
    const keys = this.#keys.get(checkpoint) ?? keysOf(checkpoint);
    this.#keys.set(checkpoint, keys);
    return keys;
  }
}

type VersionsById = Map<string, Set<string>>;

export function keyOfValue({ channel, version }: Pick<StoredValue, "channel" | "version">): string {
  return `${version} ${channel}`;
}

/** Keys of the values that a checkpoint refers to. */
export function keysOf({ checkpoint }: { checkpoint: string }): Set<string> {
  const parsed = JSON.parse(checkpoint) as { channel_versions?: Record<string, number> };
  const versions = Object.entries(parsed.channel_versions ?? {});
  return new Set(versions.map(([channel, version]) => keyOfValue({ channel, version })));
}

function without(keys: Set<string> = new Set(), others: Set<string> = new Set()): string[] {
  return [...keys].filter((key) => !others.has(key));
}
