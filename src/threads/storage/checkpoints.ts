import type {
  CheckpointQuery,
  LoadedCheckpoint,
  StoredCheckpoint,
  StoredValue,
  StoredWrite,
} from "../../isolate/contract.ts";
import { insertRows } from "./insert.ts";
import type { Parts } from "./parts.ts";
import { ReplacedWrites } from "./replaced-writes.ts";
import { SEGMENTED_BYTES, Segments } from "./segments.ts";

type ValueRow = {
  channel: string;
  version: number;
  type: string;
  data: ArrayBuffer | null;
  segments: string | null;
};
type WriteRow = {
  task_id: string;
  idx: number;
  channel: string;
  type: string;
  data: ArrayBuffer | null;
};

export type NewCheckpoint = StoredCheckpoint & { values: StoredValue[] };
export type NewWrite = StoredWrite & { ns: string; checkpoint_id: string };

const INSERT_CHECKPOINT =
  "INSERT INTO checkpoints (ns, checkpoint_id, parent_id, run_id, checkpoint, metadata)";
const REPLACE_CHECKPOINT =
  "ON CONFLICT DO UPDATE SET checkpoint = excluded.checkpoint, metadata = excluded.metadata";
const INSERT_VALUE =
  "INSERT OR IGNORE INTO channel_values (ns, channel, version, run_id, type, data, segments)";
const INTO_WRITES = "INTO writes (ns, checkpoint_id, task_id, idx, run_id, channel, type, data)";

/** Checkpoints of all namespaces, with each channel value stored once per version. */
export class Checkpoints {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;
  readonly #segments: Segments;
  readonly #replaced: ReplacedWrites;
  /** Known to hold none. */
  #isEmpty = false;

  constructor(sql: SqlStorage, parts: Parts) {
    this.#sql = sql;
    this.#parts = parts;
    this.#segments = new Segments(sql, "value_segments", "channel_values");
    this.#replaced = new ReplacedWrites(sql);
  }

  /** The tables are new: there is nothing to read. */
  startEmpty() {
    this.#isEmpty = true;
  }

  forget() {
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

  // The newest value of a channel is the one that the next most likely begins like, whichever fork it is of.
  #putLong(ns: string, run_id: string | null, { channel, version, type, data }: StoredValue) {
    const [newest] = this.#sql
      .exec<Pick<ValueRow, "version" | "segments">>(
        `SELECT version, segments FROM channel_values WHERE ns = ? AND channel = ?
         ORDER BY version DESC LIMIT 1`,
        ns,
        channel,
      )
      .toArray();
    // What comes twice is there already.
    if (newest?.version === version) return;
    const { segments, tail } = this.#segments.put(data, newest?.segments ?? null);
    const row = [ns, channel, version, run_id, type, tail, segments];
    insertRows(this.#sql, INSERT_VALUE, [row]);
  }

  // Special writes (errors, interrupts, resumes; negative idx) replace, a task's own never change.
  putWrites(run_id: string | null, writes: NewWrite[]) {
    const toRow = ({ ns, checkpoint_id, task_id, idx, channel, type, data }: NewWrite) => {
      const name = writeName(ns, checkpoint_id, task_id, idx);
      const kept = this.#parts.put(name, data);
      return [ns, checkpoint_id, task_id, idx, run_id, channel, type, kept];
    };
    const special = writes.filter(({ idx }) => idx < 0);
    if (run_id !== null) this.#replaced.keep(run_id, special);
    const own = writes.filter(({ idx }) => idx >= 0);
    insertRows(this.#sql, `INSERT OR REPLACE ${INTO_WRITES}`, special.map(toRow));
    insertRows(this.#sql, `INSERT OR IGNORE ${INTO_WRITES}`, own.map(toRow));
  }

  /** One checkpoint of a namespace, the newest when no id is given. */
  read(ns: string, checkpoint_id: string | null): LoadedCheckpoint | null {
    const [loaded] = this.list({ ns, limit: 1, ...(checkpoint_id && { checkpoint_id }) });
    return loaded ?? null;
  }

  /** Newest first; ids of checkpoints sort by time. */
  list({ ns, checkpoint_id, before_id, limit, metadata }: CheckpointQuery): LoadedCheckpoint[] {
    if (this.#isEmpty) return [];
    const rows = this.#sql.exec<StoredCheckpoint>(
      `SELECT ns, checkpoint_id, parent_id, checkpoint, metadata FROM checkpoints
       WHERE (?1 IS NULL OR ns = ?1) AND (?2 IS NULL OR checkpoint_id = ?2)
         AND (?3 IS NULL OR checkpoint_id < ?3)
       ORDER BY checkpoint_id DESC`,
      ns ?? null,
      checkpoint_id ?? null,
      before_id ?? null,
    );
    const found: LoadedCheckpoint[] = [];
    for (const row of rows) {
      if (found.length === (limit ?? Number.POSITIVE_INFINITY)) break;
      if (matches(row.metadata, metadata)) found.push({ ...row, values: [], writes: [] });
    }
    return found.map((row) => this.#load(row));
  }

  #load(row: StoredCheckpoint): LoadedCheckpoint {
    return { ...row, values: this.#values(row), writes: this.#writes(row) };
  }

  #values({ ns, checkpoint }: StoredCheckpoint): StoredValue[] {
    const rows = this.#sql
      .exec<ValueRow>(
        `SELECT v.channel, v.version, v.type, v.data, v.segments
         FROM json_each(?1, '$.channel_versions') AS wanted
         JOIN channel_values AS v ON v.ns = ?2 AND v.channel = wanted.key AND v.version = wanted.value`,
        checkpoint,
        ns,
      )
      .toArray();
    return rows.map(({ channel, version, type, data, segments }) => {
      const own = this.#parts.bytes(valueName(ns, channel, version), data);
      const whole = segments === null ? own : this.#segments.bytes(segments, own);
      return { channel, version, type, data: whole };
    });
  }

  #writes({ ns, checkpoint_id }: StoredCheckpoint): StoredWrite[] {
    const rows = this.#sql
      .exec<WriteRow>(
        `SELECT task_id, idx, channel, type, data FROM writes
         WHERE ns = ? AND checkpoint_id = ? ORDER BY rowid`,
        ns,
        checkpoint_id,
      )
      .toArray();
    return rows.map(({ data, ...row }) => {
      const name = writeName(ns, checkpoint_id, row.task_id, row.idx);
      return { ...row, data: this.#parts.bytes(name, data) };
    });
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
   * Undoes a run: its checkpoints, and what it wrote onto the checkpoints of others. Values that
   * checkpoints of others still show stay.
   */
  deleteOf(run_id: string) {
    this.#sql.exec("DELETE FROM checkpoints WHERE run_id = ?", run_id);
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
    this.#sql.exec("DELETE FROM writes WHERE run_id = ?", run_id);
    this.#replaced.putBack(run_id);
  }
}

function matches(text: string, wanted: Record<string, unknown> | undefined): boolean {
  if (!wanted) return true;
  const metadata: Record<string, unknown> = JSON.parse(text);
  return Object.entries(wanted).every(
    ([key, value]) => JSON.stringify(metadata[key]) === JSON.stringify(value),
  );
}

function valueName(ns: string, channel: string, version: number): string {
  return `value ${ns} ${channel} ${version}`;
}

function writeName(ns: string, checkpoint_id: string, task_id: string, idx: number): string {
  return `write ${ns} ${checkpoint_id} ${task_id} ${idx}`;
}
