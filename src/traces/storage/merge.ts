import type { Payload, PayloadName, RunChange, RunColumns } from "../changes.ts";
import { PAYLOADS } from "../changes.ts";
import { toDottedOrder } from "../dotted-order.ts";
import { MAX_ATTACHMENTS } from "../limits.ts";
import { replacedBytes } from "../rows/object-bytes.ts";
import type { Pointers } from "../rows/rows.ts";
import type { RunVersion } from "../segments/codec/columns.ts";

const MAX_FORMER_STARTS = 16;

export type Values = Partial<RunVersion>;

/** Run as a change finds it. */
export type MergeBase = Omit<RunVersion, "pointers"> & { pointers: Pointers };

/** Identity fields: the change that arrives last wins, also a POST that arrives after its PATCH. */
const IDENTITY = [
  "trace_id",
  "parent_run_id",
  "name",
  "run_type",
  "start_us",
  "dotted_order",
  "trace_tier",
] as const satisfies (keyof RunColumns)[];

/** Outcome fields: a PATCH overrides the POST. */
const OUTCOME = [
  "end_us",
  "error",
  "reference_example_id",
  "execution_order",
] as const satisfies (keyof RunColumns)[];

/**
 * Whether a change is a POST that arrives after its PATCH. Except for identity fields and attachments, it only adds
 * what is missing.
 */
export function onlyAdds(stored: MergeBase, change: RunChange): boolean {
  return change.kind === "post" && stored.is_patched;
}

/** Returns the columns that follow from the columns and tags of a change. */
export function mergedColumns(stored: MergeBase, change: RunChange): Values {
  const { tags, kind } = change;
  const columns = storedColumns(change.columns);
  const adds = onlyAdds(stored, change);
  const values: Values = {};
  for (const name of IDENTITY) put(values, name, columns[name]);
  for (const name of OUTCOME) {
    if (!adds || stored[name] === null) put(values, name, columns[name]);
  }
  if (tags && (!adds || stored.tags === null)) values.tags = JSON.stringify(tags);
  if (kind === "patch") values.is_patched = true;
  return { ...values, ...placeInTrace(stored, change, adds) };
}

/** Corrects the dotted order of a PATCH that arrived first, and was stored as a root because it had no dotted order. */
function placeInTrace(stored: MergeBase, { id, columns }: RunChange, adds: boolean): Values {
  const start_us = columns.start_us ?? stored.start_us;
  if (columns.dotted_order !== undefined) return {};
  if (!adds || stored.dotted_order !== toDottedOrder(stored.start_us, id)) return {};
  const isRoot = (columns.parent_run_id ?? stored.parent_run_id) === null;
  return { dotted_order: isRoot ? toDottedOrder(start_us, id) : null };
}

function put(values: Values, name: keyof RunVersion, value: string | number | undefined): void {
  if (value !== undefined) Object.assign(values, { [name]: value });
}

/** Returns the payloads except `extra` that the run takes from a change. */
export function overwrittenPayloads(stored: MergeBase, change: RunChange): PayloadName[] {
  const adds = onlyAdds(stored, change);
  return PAYLOADS.filter((name) => {
    if (name === "extra" || change.payloads[name] === undefined) return false;
    return !adds || (stored[name] === null && stored.pointers[name] === undefined);
  });
}

/** Replaces malformed Unicode in columns; `exact` keeps the original. */
export function storedColumns(columns: RunColumns): RunColumns {
  const { name, error } = columns;
  return {
    ...columns,
    ...(name === undefined ? {} : { name: name.toWellFormed() }),
    ...(error === undefined ? {} : { error: error.toWellFormed() }),
  };
}

/** @param names payloads of the change that the run gets */
export function toPointers(stored: Pointers, change: RunChange, names: PayloadName[]): Pointers {
  const { exact: before, ...pointers }: Pointers = stored;
  for (const name of PAYLOADS) {
    const payload = change.payloads[name];
    if (payload === undefined) continue;
    if (names.includes(name)) setPayload(pointers, name, payload);
    else countReplaced(pointers, payload, pointers[name]);
  }
  if (change.attachments) {
    pointers.attachments = withinLimit({ ...pointers.attachments, ...change.attachments });
  }
  return { ...pointers, ...exactTexts(before, change.columns) };
}

function setPayload(pointers: Pointers, name: PayloadName, payload: Payload): void {
  countReplaced(pointers, pointers[name], payload);
  if ("key" in payload) pointers[name] = payload;
  else delete pointers[name];
}

/** Keeps the start that a change replaces: an export may have read the run with it. */
export function withFormerStart(
  pointers: Pointers,
  { seq, start_us }: MergeBase,
  next_us: number | undefined,
  changed_seq: number,
): Pointers {
  const former = pointers.exact?.former_starts ?? [];
  const isSameBatch = seq === changed_seq || former.at(-1)?.until_seq === changed_seq;
  if (next_us === undefined || next_us === start_us || isSameBatch) return pointers;
  const former_starts = [...former, { until_seq: changed_seq, start_us }];
  const kept = former_starts.slice(-MAX_FORMER_STARTS);
  return { ...pointers, exact: { ...pointers.exact, former_starts: kept } };
}

/** Drops the attachments beyond the limit of a run: each of its requests may bring some. */
function withinLimit(attachments: NonNullable<Pointers["attachments"]>) {
  return Object.fromEntries(Object.entries(attachments).slice(0, MAX_ATTACHMENTS));
}

function countReplaced(
  pointers: Pointers,
  former: Payload | undefined,
  next: Payload | undefined,
): void {
  if (former === undefined || !("key" in former)) return;
  if (next !== undefined && "key" in next && next.key === former.key) return;
  pointers.replaced = replacedBytes(pointers) + former.bytes;
}

function exactTexts(
  before: Pointers["exact"],
  { name, error }: RunColumns,
): Pick<Pointers, "exact"> {
  const exact = { ...before };
  for (const [field, text] of [["name", name] as const, ["error", error] as const]) {
    if (text === undefined) continue;
    if (text.isWellFormed()) delete exact[field];
    else exact[field] = text;
  }
  return Object.keys(exact).length === 0 ? {} : { exact };
}
