import type { PayloadName, RunChange, RunColumns } from "../changes.ts";
import { PAYLOADS } from "../changes.ts";
import { farRootDay } from "../dotted-order.ts";
import type { Usage } from "../usage.ts";
import type { Pointers, StoredOutline } from "./rows.ts";

export type Values = Record<string, string | number | null>;

/** Who a run is: its post knows best, also when its patch came first. */
const IDENTITY = [
  "trace_id",
  "parent_run_id",
  "name",
  "run_type",
  "start_us",
  "dotted_order",
] as const satisfies (keyof RunColumns)[];

/** How it went: of a post and a patch the patch says the later thing. */
const COURSE = [
  "end_us",
  "error",
  "reference_example_id",
  "trace_tier",
  "execution_order",
] as const satisfies (keyof RunColumns)[];

/** True: the post comes after its patch and only adds what that did not name. */
export function onlyAdds(stored: StoredOutline, change: RunChange): boolean {
  return change.kind === "post" && stored.patched === 1;
}

/** Columns that change. Extra, which is merged key by key, is the caller's. */
export function mergedColumns(stored: StoredOutline, change: RunChange): Values {
  const { columns, tags, kind } = change;
  const adds = onlyAdds(stored, change);
  const values: Values = {};
  for (const name of IDENTITY) put(values, name, columns[name]);
  for (const name of COURSE) {
    if (!adds || stored[name] === null) put(values, name, columns[name]);
  }
  if (tags && (!adds || stored.tags === null)) values.tags = JSON.stringify(tags);
  if (kind === "patch") values.patched = 1;
  return { ...values, ...rootDay(stored, change), ...stateOf({ ...stored, ...values }) };
}

function rootDay({ start_us }: StoredOutline, { columns }: RunChange): Values {
  if (columns.dotted_order === undefined) return {};
  return { root_day: farRootDay(columns.dotted_order, columns.start_us ?? start_us) };
}

function put(values: Values, name: string, value: string | number | undefined): void {
  if (value !== undefined) values[name] = value;
}

/** Payloads that this change may write over what is stored. */
export function wonPayloads(stored: StoredOutline, change: RunChange): PayloadName[] {
  const adds = onlyAdds(stored, change);
  return PAYLOADS.filter((name) => {
    if (name === "extra" || change.payloads[name] === undefined) return false;
    return !adds || (stored[`has_${name}`] === 0 && stored.pointers[name] === undefined);
  });
}

export function stateOf(row: { error?: unknown; end_us?: unknown; parent_run_id?: unknown }): {
  status: string;
  is_root: number;
} {
  const status = row.error != null ? "error" : row.end_us != null ? "success" : "pending";
  return { status, is_root: row.parent_run_id == null ? 1 : 0 };
}

export function usageColumns(usage: Usage | null | undefined): Values {
  return usage ? { ...usage } : {};
}

export function toPointers(stored: Pointers, change: RunChange, names: PayloadName[]): Pointers {
  const pointers = { ...stored };
  for (const name of names) {
    const payload = change.payloads[name];
    if (payload === undefined) continue;
    if ("key" in payload) pointers[name] = payload;
    else delete pointers[name];
  }
  if (change.attachments) {
    pointers.attachments = { ...pointers.attachments, ...change.attachments };
  }
  return pointers;
}
