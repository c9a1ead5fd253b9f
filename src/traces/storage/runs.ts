import { timeOfId } from "../../shared/times.ts";
import {
  type ExtraDigest,
  PAYLOADS,
  type Payload,
  type PayloadName,
  type RunChange,
  type RunColumns,
} from "../changes.ts";
import { parseDottedOrder, rootDayOf, toDottedOrder } from "../dotted-order.ts";
import type { Pointers } from "../rows/rows.ts";
import type { RunVersion } from "../segments/codec/columns.ts";
import { keepDigests } from "../segments/digests.ts";
import { FAR_TERM, termOf } from "../terms.ts";
import { NO_USAGE } from "../usage.ts";
import { mergeExtra } from "./extra.ts";
import {
  type MergeBase,
  mergedColumns,
  onlyAdds,
  overwrittenPayloads,
  storedColumns,
  toPointers,
  type Values,
  withFormerStart,
} from "./merge.ts";

/** Returns the run that a change of an unknown id makes. */
export function createRun(
  change: RunChange,
  { row, seq }: { row: number; seq: number },
): RunVersion {
  const { digest, payloads, tags } = change;
  const sent = PAYLOADS.filter((name) => payloads[name] !== undefined);
  const pointers = toPointers({}, change, sent);
  const columns = storedColumns(change.columns);
  const usage = digest.outputs?.usage ?? digest.extra?.usage ?? NO_USAGE;
  // Most columns are written out: a spread takes longer.
  const run: RunVersion = {
    id: change.id,
    row,
    seq,
    changed_seq: seq,
    ...identityOf(change.id, columns),
    ...detailColumns(columns),
    trace_tier: columns.trace_tier ?? change.project_tier ?? null,
    thread_id: digest.extra?.thread_id ?? null,
    total_tokens: usage.total_tokens,
    prompt_tokens: usage.prompt_tokens,
    completion_tokens: usage.completion_tokens,
    total_cost: usage.total_cost,
    prompt_cost: usage.prompt_cost,
    completion_cost: usage.completion_cost,
    inputs: textOf(payloads.inputs),
    outputs: textOf(payloads.outputs),
    extra: textOf(payloads.extra),
    events: textOf(payloads.events),
    serialized: textOf(payloads.serialized),
    pointers: toText(pointers),
    digests: keepDigests(null, change, sent, pointers),
    first_token_us: digest.first_token_us ?? null,
    tags: tags ? JSON.stringify(tags) : null,
    is_patched: change.kind === "patch",
    input_keys: digest.inputs?.keys ?? null,
    output_keys: digest.outputs?.keys ?? null,
    terms: [],
  };
  return withTerms(change, [digest.extra, digest.inputs, digest.outputs], run);
}

/**
 * Merges a later change. A POST that comes after its PATCH sets identity fields and attachments, and otherwise adds
 * what is missing.
 */
export function changeRun(run: RunVersion, change: RunChange, changed_seq: number): RunVersion {
  const stored: MergeBase = { ...run, pointers: run.pointers ? JSON.parse(run.pointers) : {} };
  const adds = onlyAdds(stored, change);
  const extra = mergeExtra(stored, change, adds) ?? replacedExtra(stored, change, adds);
  const replaced: PayloadName[] = extra?.text === null ? ["extra"] : [];
  const overwritten = [...overwrittenPayloads(stored, change), ...replaced];
  const merged = mergedColumns(stored, change);
  const changed = toPointers(stored.pointers, change, overwritten);
  const pointers = withFormerStart(changed, stored, merged.start_us, changed_seq);
  const { inputs, outputs } = change.digest;
  const newDigests = [
    extra?.digest,
    overwritten.includes("inputs") ? inputs : undefined,
    overwritten.includes("outputs") ? outputs : undefined,
  ];
  return withTerms(change, newDigests, {
    ...run,
    ...merged,
    ...inline(change, overwritten),
    ...derivedColumns(stored, change, overwritten, extra),
    pointers: toText(pointers),
    digests: keepDigests(run.digests, change, overwritten, pointers),
    changed_seq,
  });
}

/** Returns a new version of a run, whose place in its trace has become known. */
export function placeRun(
  run: RunVersion,
  place: Pick<RunVersion, "trace_id" | "parent_run_id" | "dotted_order">,
  changed_seq: number,
): RunVersion {
  return withTerms({}, [], { ...run, ...place, changed_seq });
}

/** Adds the terms of a change to a new version; those of replaced values remain, so readers test the run itself. */
function withTerms(
  { tags = [] }: Pick<RunChange, "tags">,
  digests: ({ terms: number[] } | undefined)[],
  run: RunVersion,
): RunVersion {
  const terms = new Set(run.terms);
  for (const digest of digests) for (const term of digest?.terms ?? []) terms.add(term);
  for (const tag of tags) terms.add(termOf("tag", "", tag));
  terms.add(termOf("tag", "trace", run.trace_id));
  if (rootDayOf(run) !== null) terms.add(FAR_TERM);
  if (run.thread_id !== null) terms.add(termOf("tag", "thread", run.thread_id));
  run.terms = [...terms];
  return run;
}

function inline({ payloads }: RunChange, names: PayloadName[]) {
  const values: Partial<Record<PayloadName, string | null>> = {};
  for (const name of names) values[name] = textOf(payloads[name]);
  return values;
}

function textOf(payload: Payload | undefined): string | null {
  return payload && "text" in payload ? payload.text : null;
}

/** `text`: the merged extra, `null` when that of the change replaces it as a whole. */
type DigestedExtra = { text: string | null; digest: ExtraDigest };

function derivedColumns(
  { total_tokens }: MergeBase,
  { kind, digest }: RunChange,
  overwritten: PayloadName[],
  extra: DigestedExtra | null,
): Values {
  const [inputs, outputs] = (["inputs", "outputs"] as const).map((name) =>
    overwritten.includes(name) ? digest[name] : undefined,
  );
  // Merged extra may have the usage of the stored extra, which must not replace the usage of the outputs.
  const sent = digest.extra?.usage && extra?.digest.usage;
  const usage = (outputs && digest.outputs?.usage) || sent;
  const maySetUsage = kind === "patch" || total_tokens === null;
  const first_token_us = overwritten.includes("events") ? digest.first_token_us : undefined;
  return {
    ...(usage && maySetUsage ? usage : {}),
    ...extraColumns(extra),
    ...(inputs ? { input_keys: inputs.keys } : {}),
    ...(outputs ? { output_keys: outputs.keys } : {}),
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

/** Returns the extra of a change that is not merged. `null`: the stored extra, if any, stays. */
function replacedExtra(
  stored: MergeBase,
  { digest, payloads }: RunChange,
  adds: boolean,
): DigestedExtra | null {
  if (!payloads.extra || !digest.extra) return null;
  if (adds && (stored.extra !== null || stored.pointers.extra)) return null;
  return { text: null, digest: digest.extra };
}

function detailColumns(columns: RunColumns) {
  return {
    name: columns.name ?? null,
    run_type: columns.run_type ?? null,
    end_us: columns.end_us ?? null,
    error: columns.error ?? null,
    execution_order: columns.execution_order ?? null,
    reference_example_id: columns.reference_example_id ?? null,
  };
}

/** Derives the start of a new run and its place in its trace. */
function identityOf(id: string, columns: RunColumns) {
  const { dotted_order: order } = columns;
  const lineage = order === undefined || isPlaced(columns) ? null : parseDottedOrder(order);
  const start_us = columns.start_us ?? lineage?.start_us ?? timeOfId(id) ?? Date.now() * 1000;
  const parent_run_id = columns.parent_run_id ?? lineage?.parent_run_ids.at(-1) ?? null;
  const dotted_order = order ?? (parent_run_id === null ? toDottedOrder(start_us, id) : null);
  const trace_id = columns.trace_id ?? lineage?.trace_id ?? parent_run_id ?? id;
  return { start_us, parent_run_id, dotted_order, trace_id };
}

/** Whether the columns have all that a dotted order would add. The order of a root has no dot, and no parent. */
function isPlaced({ trace_id, start_us, parent_run_id, dotted_order }: RunColumns): boolean {
  if (trace_id === undefined || start_us === undefined) return false;
  return parent_run_id !== undefined || dotted_order?.includes(".") !== true;
}
