import { timeOfId } from "../../shared/times.ts";
import type { PayloadName, RunChange } from "../changes.ts";
import { PAYLOADS } from "../changes.ts";
import { farRootDay, parseDottedOrder, toDottedOrder } from "../dotted-order.ts";
import type { Pointers, StoredOutline } from "../reads/rows.ts";
import type { PartitionCounts } from "./counts.ts";
import { type MergedExtra, mergeExtra } from "./extra.ts";
import { IndexTables } from "./index-tables.ts";
import {
  mergedColumns,
  onlyAdds,
  overwrittenPayloads,
  stateOf,
  storedColumns,
  toPointers,
  usageColumns,
  type Values,
} from "./merge.ts";
import { searchText } from "./search-text.ts";

const OUTLINE = `SELECT row, start_us, trace_id, parent_run_id, dotted_order, end_us, error, reference_example_id, trace_tier,
  execution_order, total_tokens, thread_id, tags, extra, search_text, pointers, patched,
  inputs IS NOT NULL AS has_inputs, outputs IS NOT NULL AS has_outputs,
  events IS NOT NULL AS has_events, serialized IS NOT NULL AS has_serialized
  FROM runs WHERE id = ?`;

/** Writes changes of runs in order, inside the caller's transaction. */
export class RunWriter {
  readonly #sql: SqlStorage;
  readonly #counts: PartitionCounts;
  readonly #index: IndexTables;
  /** Sequence of the whole batch, so that it never runs ahead of the clock. */
  readonly #seq: number;

  constructor(sql: SqlStorage, counts: PartitionCounts) {
    this.#sql = sql;
    this.#counts = counts;
    this.#seq = counts.nextSeq();
    this.#index = new IndexTables(sql);
  }

  apply(change: RunChange, stored: StoredOutline | null): void {
    if (stored) this.#merge(change, stored);
    else this.#insert(change);
  }

  /** Writes index rows at the end of the batch, in few statements. */
  finish(): void {
    this.#index.write();
  }

  find(id: string): StoredOutline | null {
    const [row] = this.#sql.exec(OUTLINE, id).toArray();
    if (!row) return null;
    const pointers: Pointers = typeof row.pointers === "string" ? JSON.parse(row.pointers) : {};
    return { ...row, pointers } as unknown as StoredOutline;
  }

  #insert(change: RunChange): void {
    const { digest, payloads, tags } = change;
    const named = PAYLOADS.filter((name) => payloads[name] !== undefined);
    const columns = identityOf(change);
    const row = this.#counts.addRow(columns.start_us);
    const values: Values = {
      row,
      id: change.id,
      ...columns,
      trace_tier: columns.trace_tier ?? change.project_tier ?? null,
      ...stateOf(columns),
      thread_id: digest.extra?.thread_id ?? null,
      ...usageColumns(digest.extra?.usage),
      ...usageColumns(digest.outputs?.usage),
      ...inline(change, named),
      pointers: toText(toPointers({}, change, named)),
      search_text: searchText(null, change, named),
      seq: this.#seq,
      changed_seq: this.#seq,
      patched: change.kind === "patch" ? 1 : 0,
    };
    if (digest.first_token_us !== undefined) values.first_token_us = digest.first_token_us;
    if (tags) values.tags = JSON.stringify(tags);
    this.#write("INSERT", values);
    this.#index.addTags(row, tags ?? []);
    const { extra, inputs, outputs } = digest;
    this.#index.addPairs(row, { m: extra, i: inputs, o: outputs });
  }

  #merge(change: RunChange, stored: StoredOutline): void {
    const adds = onlyAdds(stored, change);
    const overwritten = overwrittenPayloads(stored, change);
    const extra = mergeExtra(stored, change, adds) ?? replacedExtra(stored, change, adds);
    if (extra?.text === null) overwritten.push("extra");
    const values: Values = {
      ...mergedColumns(stored, change),
      ...inline(change, overwritten),
      ...derivedColumns(stored, change, overwritten, extra),
      pointers: toText(toPointers(stored.pointers, change, overwritten)),
      search_text: searchText(stored.search_text, change, overwritten),
      changed_seq: this.#seq,
    };
    if (typeof values.start_us === "number") this.#counts.trackStart(values.start_us);
    this.#write("UPDATE", { ...values, row: stored.row });
    this.#index.addPairs(stored.row, {
      m: extra?.digest,
      i: overwritten.includes("inputs") ? change.digest.inputs : undefined,
      o: overwritten.includes("outputs") ? change.digest.outputs : undefined,
    });
    if (values.tags !== undefined) this.#index.addTags(stored.row, change.tags ?? []);
  }

  #write(verb: "INSERT" | "UPDATE", values: Values): void {
    const names = Object.keys(values);
    const sql =
      verb === "INSERT"
        ? `INSERT INTO runs (${names.join()}) VALUES (${names.map(() => "?").join()})`
        : `UPDATE runs SET ${names.map((name) => `${name} = ?`).join()} WHERE row = ?`;
    const bound = Object.values(values);
    if (verb === "UPDATE") bound.push(values.row ?? null);
    this.#sql.exec(sql, ...bound);
  }
}

function inline({ payloads }: RunChange, names: PayloadName[]): Values {
  const values: Values = {};
  for (const name of names) {
    const payload = payloads[name];
    values[name] = payload && "text" in payload ? payload.text : null;
  }
  return values;
}

type DigestedExtra = { text: string | null } & Pick<MergedExtra, "digest">;

function derivedColumns(
  { total_tokens }: StoredOutline,
  change: RunChange,
  overwritten: PayloadName[],
  extra: DigestedExtra | null,
): Values {
  const { outputs } = change.digest;
  const first_token_us = overwritten.includes("events") ? change.digest.first_token_us : undefined;
  const usage = (overwritten.includes("outputs") && outputs?.usage) || extra?.digest.usage;
  const isFirst = change.kind === "patch" || total_tokens === null;
  return {
    ...(usage && isFirst ? usageColumns(usage) : {}),
    ...extraColumns(extra),
    ...(first_token_us === undefined ? {} : { first_token_us }),
  };
}

function extraColumns(extra: DigestedExtra | null): Values {
  const values: Values = {};
  if (extra?.text != null) values.extra = extra.text;
  if (extra?.digest.thread_id != null) values.thread_id = extra.digest.thread_id;
  return values;
}

function toText(pointers: Pointers): string | null {
  return Object.keys(pointers).length === 0 ? null : JSON.stringify(pointers);
}

/** Replaces extra that cannot merge; a late POST changes nothing. */
function replacedExtra(
  stored: StoredOutline,
  { digest, payloads }: RunChange,
  adds: boolean,
): DigestedExtra | null {
  if (!payloads.extra || !digest.extra) return null;
  if (adds && (stored.extra !== null || stored.pointers.extra)) return null;
  return { text: null, digest: digest.extra };
}

/** Derives the mandatory fields of a new run. */
function identityOf({ id, columns: sent }: RunChange) {
  const columns = storedColumns(sent);
  const lineage =
    columns.dotted_order === undefined ? null : parseDottedOrder(columns.dotted_order);
  const start_us = columns.start_us ?? lineage?.start_us ?? timeOfId(id) ?? Date.now() * 1000;
  const parent_run_id = columns.parent_run_id ?? lineage?.parent_run_ids.at(-1) ?? null;
  const dotted_order =
    columns.dotted_order ?? (parent_run_id === null ? toDottedOrder(start_us, id) : null);
  return {
    ...columns,
    start_us,
    parent_run_id,
    trace_id: columns.trace_id ?? lineage?.trace_id ?? parent_run_id ?? id,
    dotted_order,
    root_day: dotted_order === null ? null : farRootDay(dotted_order, start_us),
    name: columns.name ?? "Unnamed",
    run_type: columns.run_type ?? "chain",
  };
}
