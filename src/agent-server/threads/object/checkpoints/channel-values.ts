import type { StoredValue } from "../../../../isolate/checkpoint-contract.ts";
import { insertRows } from "../log/insert.ts";
import type { ThreadTables } from "../log/lazy-tables.ts";
import type { Parts } from "../log/parts.ts";
import { SEGMENTED_BYTES, Segments, VALUE_SEGMENTS } from "../log/segments.ts";
import { type ByteBudget, ENTRY_BYTES } from "./byte-budget.ts";
import {
  CHECKPOINT_COLUMNS,
  type CheckpointColumns,
  type CheckpointRow,
  fromColumns,
} from "./row-format.ts";
import { keyOfValue, valueKeysOf } from "./stored-keys.ts";

type ValueRow = {
  channel: string;
  version: number;
  type: string;
  data: ArrayBuffer | null;
  segments: string | null;
};
type WantedRow = Omit<ValueRow, "type"> & { type: string | null };
type ValueKey = Pick<ValueRow, "channel" | "version"> & { ns: string };

const INSERT_VALUE =
  "INSERT OR IGNORE INTO channel_values (ns, channel, version, run_id, type, data, segments)";

/** Replaces the table in a statement while it does not exist. */
const NO_VALUES = `(SELECT NULL AS ns, NULL AS channel, NULL AS version, NULL AS type, NULL AS data,
  NULL AS segments)`;

/**
 * The values of channels, each stored once per version. Small values are in the rows of their checkpoints, if they fit.
 */
export class ChannelValues {
  readonly #sql: SqlStorage;
  readonly #tables: ThreadTables;
  readonly #parts: Parts;
  readonly #segments: Segments;

  constructor(tables: ThreadTables, parts: Parts) {
    this.#sql = tables.sql;
    this.#tables = tables;
    this.#parts = parts;
    this.#segments = new Segments(tables, VALUE_SEGMENTS);
  }

  put(run_id: string | null, ns: string, values: StoredValue[]) {
    if (values.length === 0) return;
    this.#tables.create("channel_values");
    const small: (SqlStorageValue | Uint8Array)[][] = [];
    for (const value of values) {
      const { channel, version, type, data } = value;
      if (data.byteLength >= SEGMENTED_BYTES) this.#putLong(ns, run_id, value);
      else small.push([ns, channel, version, run_id, type, data, null]);
    }
    insertRows(this.#sql, INSERT_VALUE, small);
  }

  // Shares segments with the channel's newest value of any fork: that most likely has the same beginning.
  #putLong(ns: string, run_id: string | null, { channel, version, type, data }: StoredValue) {
    const [newest] = this.#sql
      .exec<Pick<ValueRow, "version" | "segments">>(
        `SELECT version, segments FROM channel_values WHERE ns = ? AND channel = ?
         ORDER BY version DESC LIMIT 1`,
        ns,
        channel,
      )
      .toArray();
    // Values of one version never change.
    if (newest?.version === version) return;
    const { segments, tail } = this.#segments.put(data, newest?.segments ?? null);
    const row = [ns, channel, version, run_id, type, tail, segments];
    insertRows(this.#sql, INSERT_VALUE, [row]);
  }

  /**
   * Reads the values of a checkpoint one by one: together they may be larger than the memory of an isolate.
   * @returns `null` when they exceed the budget
   */
  read({ ns, checkpoint, inline_values }: CheckpointRow, budget: ByteBudget): StoredValue[] | null {
    const inline = new Map(inline_values.map((value) => [keyOfValue(value), value]));
    const source = this.#exists ? "channel_values" : NO_VALUES;
    const rows = this.#sql.exec<WantedRow>(
      `SELECT wanted.key AS channel, wanted.value AS version, v.type, v.data, v.segments
       FROM json_each(?1, '$.channel_versions') AS wanted LEFT JOIN ${source} AS v
         ON v.ns = ?2 AND v.channel = wanted.key AND v.version = wanted.value`,
      checkpoint,
      ns,
    );
    const values: StoredValue[] = [];
    for (const row of rows) {
      const value = inline.get(keyOfValue(row)) ?? this.#toValue(ns, row);
      if (!value) continue;
      if (!budget.take(value.data.byteLength + ENTRY_BYTES)) return null;
      values.push(value);
    }
    return values;
  }

  /** Returns the bytes that `read` would load, without loading them. Values in the checkpoint's row do not count. */
  bytesOf({ ns, checkpoint }: CheckpointRow): number {
    if (!this.#exists) return 0;
    const inParts = `(SELECT sum(length(data)) FROM parts WHERE v.data IS NULL
      AND name = 'value ' || v.ns || ' ' || v.channel || ' ' || v.version)`;
    return this.#sql
      .exec<{ bytes: number }>(
        `SELECT coalesce(sum(coalesce(length(v.data), 0)
           + coalesce((SELECT sum(length(kept.data)) FROM json_each(v.segments) AS part
               JOIN value_segments AS kept ON kept.id = part.value), 0)
           + coalesce(${this.#tables.has("parts") ? inParts : 0}, 0)), 0) AS bytes
         FROM json_each(?1, '$.channel_versions') AS wanted JOIN channel_values AS v
           ON v.ns = ?2 AND v.channel = wanted.key AND v.version = wanted.value`,
        checkpoint,
        ns,
      )
      .one().bytes;
  }

  /** @returns `null` when the channel has no value */
  #toValue(ns: string, { channel, version, type, data, segments }: WantedRow): StoredValue | null {
    if (type === null) return null;
    const own = this.#parts.bytes(valueName(ns, channel, version), data);
    const whole = segments === null ? own : this.#segments.bytes(segments, own);
    return { channel, version, type, data: whole };
  }

  passOn(run_id: string, heir: string) {
    if (!this.#exists) return;
    this.#sql.exec("UPDATE channel_values SET run_id = ?2 WHERE run_id = ?1", run_id, heir);
  }

  /** Deletes the values of a run that no stored checkpoint uses. */
  deleteUnused(run_id: string) {
    const unused = this.#unused(run_id);
    if (unused.length === 0) return;
    const values = this.#sql
      .exec<ValueKey & { segments: string | null; is_large: number }>(
        `DELETE FROM channel_values WHERE (ns, channel, version) IN (
           SELECT value ->> 'ns', value ->> 'channel', value ->> 'version' FROM json_each(?))
         RETURNING ns, channel, version, segments, data IS NULL AS is_large`,
        JSON.stringify(unused),
      )
      .toArray();
    for (const { ns, channel, version, is_large } of values) {
      if (is_large) this.#parts.delete(valueName(ns, channel, version));
    }
    if (values.some(({ segments }) => segments !== null)) this.#segments.dropUnused();
  }

  get #exists(): boolean {
    return this.#tables.has("channel_values");
  }

  #unused(run_id: string): ValueKey[] {
    if (!this.#exists) return [];
    const own = this.#sql
      .exec<ValueKey>("SELECT ns, channel, version FROM channel_values WHERE run_id = ?", run_id)
      .toArray();
    const unused = new Map(own.map((value) => [`${value.ns}\n${keyOfValue(value)}`, value]));
    if (unused.size === 0) return [];
    const select = `SELECT ${CHECKPOINT_COLUMNS} FROM checkpoints`;
    for (const columns of this.#sql.exec<CheckpointColumns>(select)) {
      for (const key of valueKeysOf(fromColumns(columns))) unused.delete(`${columns.ns}\n${key}`);
    }
    return [...unused.values()];
  }
}

function valueName(ns: string, channel: string, version: number): string {
  return `value ${ns} ${channel} ${version}`;
}
