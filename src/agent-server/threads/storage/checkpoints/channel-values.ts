import type { StoredCheckpoint, StoredValue } from "../../../../isolate/contract.ts";
import { insertRows } from "../../log/insert.ts";
import type { Parts } from "../../log/parts.ts";
import { SEGMENTED_BYTES, Segments } from "../../log/segments.ts";
import { type ByteBudget, ENTRY_BYTES } from "./checkpoint-page.ts";

type ValueRow = {
  channel: string;
  version: number;
  type: string;
  data: ArrayBuffer | null;
  segments: string | null;
};

const INSERT_VALUE =
  "INSERT OR IGNORE INTO channel_values (ns, channel, version, run_id, type, data, segments)";

/** The values of channels, each stored once per version. */
export class ChannelValues {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;
  readonly #segments: Segments;

  constructor(sql: SqlStorage, parts: Parts) {
    this.#sql = sql;
    this.#parts = parts;
    this.#segments = new Segments(sql, "value_segments", "channel_values");
  }

  put(run_id: string | null, checkpoints: { ns: string; values: StoredValue[] }[]) {
    const small: (SqlStorageValue | Uint8Array)[][] = [];
    for (const { ns, values } of checkpoints) {
      for (const value of values) {
        const { channel, version, type, data } = value;
        if (data.byteLength >= SEGMENTED_BYTES) this.#putLong(ns, run_id, value);
        else small.push([ns, channel, version, run_id, type, data, null]);
      }
    }
    insertRows(this.#sql, INSERT_VALUE, small);
  }

  // The newest value of a channel, of any fork, most likely shares its beginning with the next one.
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
   * @returns `null` when they take more than is left
   */
  read({ ns, checkpoint }: StoredCheckpoint, budget: ByteBudget): StoredValue[] | null {
    const rows = this.#sql.exec<ValueRow>(
      `SELECT v.channel, v.version, v.type, v.data, v.segments
       FROM json_each(?1, '$.channel_versions') AS wanted
       JOIN channel_values AS v ON v.ns = ?2 AND v.channel = wanted.key AND v.version = wanted.value`,
      checkpoint,
      ns,
    );
    const values: StoredValue[] = [];
    for (const { channel, version, type, data, segments } of rows) {
      const own = this.#parts.bytes(valueName(ns, channel, version), data);
      const whole = segments === null ? own : this.#segments.bytes(segments, own);
      if (!budget.take(whole.byteLength + ENTRY_BYTES)) return null;
      values.push({ channel, version, type, data: whole });
    }
    return values;
  }

  /** Deletes values of a run that no checkpoint uses. */
  deleteUnused(run_id: string) {
    const values = this.#sql
      .exec<Pick<ValueRow, "channel" | "version" | "segments"> & { ns: string; is_large: number }>(
        `DELETE FROM channel_values WHERE run_id = ? AND (ns, channel, version) NOT IN (
           SELECT shown.ns, wanted.key, wanted.value
           FROM checkpoints AS shown, json_each(shown.checkpoint, '$.channel_versions') AS wanted)
         RETURNING ns, channel, version, segments, data IS NULL AS is_large`,
        run_id,
      )
      .toArray();
    for (const { ns, channel, version, is_large } of values) {
      if (is_large) this.#parts.delete(valueName(ns, channel, version));
    }
    if (values.some(({ segments }) => segments !== null)) this.#segments.dropUnused();
  }
}

function valueName(ns: string, channel: string, version: number): string {
  return `value ${ns} ${channel} ${version}`;
}
