import type { z } from "zod";
import { AppError, type Issue, invalid, issuesOf } from "../../shared/errors.ts";
import { newId } from "../../shared/storage/ids.ts";
import { joinIssues, toIssues } from "../../shared/validation.ts";
import { type Digest, type IncomingRun, PAYLOADS, type RunColumns } from "../changes.ts";
import {
  digestExtra,
  digestInputs,
  digestOutputs,
  firstTokenMicros,
  fullKeyBudget,
} from "../digest.ts";
import { type Lineage, parseDottedOrder } from "../dotted-order.ts";
import { MAX_ERROR_CHARS } from "../limits.ts";
import { IngestRun } from "./ingest-schema.ts";

export type ChangeKind = "post" | "patch";
const MAX_NAMED_ISSUES = 100;

type Loc = (string | number)[];

/**
 * Converts one run of a request. `texts`: JSON of payloads to store as it is, because it was sent as a separate part or
 * has more digits than `value`.
 */
export function toIncoming(
  value: unknown,
  kind: ChangeKind,
  loc: Loc,
  texts: Partial<Record<string, string>> = {},
): IncomingRun {
  return fromValid(parseFields(IngestRun, value, loc), kind, loc, texts);
}

/** Runs of one request that are valid, and why the others are not. */
export type RunBatch = { runs: IncomingRun[]; issues: Issue[] };

export function readBatch(reads: readonly (() => IncomingRun)[]): RunBatch {
  const issues: Issue[] = [];
  const runs = reads.flatMap((read) => {
    try {
      return [read()];
    } catch (error) {
      issues.push(...issuesOf(error, ["body"]));
      return [];
    }
  });
  return { runs, issues };
}

/** @throws AppError 422 that names the first `MAX_NAMED_ISSUES` issues, when there are any */
export function assertStored({ runs, issues }: RunBatch): void {
  if (issues.length === 0) return;
  const stored = runs.length === 0 ? "" : ` The other ${runs.length} runs are stored.`;
  const named = issues.slice(0, MAX_NAMED_ISSUES);
  const text = `${joinIssues(named)}${stored}`;
  throw new AppError("invalid_request", text, { issues: named });
}

export function parseFields<T>(schema: z.ZodType<T>, value: unknown, loc: Loc): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = toIssues(parsed.error, loc);
  throw new AppError("invalid_request", joinIssues(issues), { issues });
}

/** Converts a run of which each field is valid. Checks that its fields fit together. */
export function fromValid(
  run: IngestRun,
  kind: ChangeKind,
  loc: Loc,
  texts: Partial<Record<string, string>> = {},
): IncomingRun {
  const lineage = run.dotted_order ? parseDottedOrder(run.dotted_order) : null;
  const id = run.id ?? lineage?.run_id ?? (kind === "post" ? newId() : null);
  if (id === null) throw invalid([...loc, "id"], "required: the id of the run");
  if (lineage) assertLineage(run, id, lineage, loc);
  return {
    id,
    kind,
    columns: toColumns(run, lineage),
    payloads: toPayloads(run, texts),
    ...(run.tags ? { tags: run.tags } : {}),
    digest: toDigest(run),
    session_id: run.session_id ?? null,
    session_name: run.session_name ?? null,
  };
}

function assertLineage(run: IngestRun, id: string, lineage: Lineage, loc: Loc): void {
  const at = [...loc, "dotted_order"];
  if (lineage.run_id !== id) throw invalid(at, `must end with the run's id, ${id}`);
  if (run.trace_id && lineage.trace_id !== run.trace_id) {
    throw invalid(at, `must begin with the trace's id, ${run.trace_id}`);
  }
  const parent = lineage.parent_run_ids.at(-1) ?? null;
  if (run.parent_run_id && parent !== run.parent_run_id) {
    throw invalid(at, `must contain the parent's id, ${run.parent_run_id}, before the run's id`);
  }
}

function toColumns(run: IngestRun, lineage: Lineage | null): RunColumns {
  const error = errorText(run.error);
  const columns = {
    trace_id: run.trace_id ?? lineage?.trace_id,
    parent_run_id: run.parent_run_id ?? lineage?.parent_run_ids.at(-1),
    name: run.name,
    run_type: run.run_type,
    start_us: run.start_time,
    end_us: run.end_time,
    error: error?.slice(0, MAX_ERROR_CHARS),
    dotted_order: run.dotted_order,
    reference_example_id: run.reference_example_id,
    trace_tier: run.trace_tier,
    execution_order: run.execution_order,
  };
  const named: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(columns)) if (value != null) named[name] = value;
  // The remaining entries are fields of RunColumns with values of their types.
  return named as RunColumns;
}

function errorText(error: unknown): string | undefined {
  if (error === null || error === undefined || error === "") return undefined;
  return typeof error === "string" ? error : JSON.stringify(error);
}

function toPayloads(run: IngestRun, texts: Partial<Record<string, string>>) {
  const payloads: IncomingRun["payloads"] = {};
  for (const name of PAYLOADS) {
    if (run[name] === null || run[name] === undefined) continue;
    payloads[name] = { text: texts[name] ?? JSON.stringify(run[name]) };
  }
  return payloads;
}

function toDigest(run: IngestRun): Digest {
  const digest: Digest = {};
  const budget = fullKeyBudget();
  if (run.extra != null) digest.extra = digestExtra(run.extra, budget);
  if (run.inputs != null) digest.inputs = digestInputs(run.inputs, budget);
  if (run.outputs != null) digest.outputs = digestOutputs(run.outputs, budget);
  const first_token_us = firstTokenMicros(run.events);
  if (first_token_us !== undefined) digest.first_token_us = first_token_us;
  return digest;
}
