import { AppError, invalid } from "../../shared/errors.ts";
import { isRecord } from "../../shared/guards.ts";
import { newId } from "../../shared/storage/ids.ts";
import { toMicros } from "../../shared/times.ts";
import type { PartitionKey } from "../changes.ts";
import { MAX_FEEDBACK_CHARS } from "../limits.ts";
import type { FeedbackRow } from "../rows/rows.ts";
import { Feedback, type FeedbackCreateRequest } from "./feedback-schema.ts";

export function toRow(input: FeedbackCreateRequest, loc: string[]): FeedbackRow {
  const run_id = input.run_id ?? input.trace_id;
  if (!run_id) throw invalid([...loc, "run_id"], "is missing: feedback belongs to a run");
  const body = JSON.stringify(input);
  if (body.length > MAX_FEEDBACK_CHARS) {
    throw new AppError(
      "too_large",
      `Feedback is too large: send at most ${MAX_FEEDBACK_CHARS} characters.`,
    );
  }
  const { id, key, score, value, comment, feedback_source, created_at } = input;
  return {
    id: id ?? newId(),
    run_id,
    key,
    score: typeof score === "boolean" ? Number(score) : (score ?? null),
    value: toText(value),
    source: feedback_source?.type ?? "api",
    comment: comment ?? null,
    body,
    created_at: toTime(created_at),
    modified_at: null,
  };
}

/** Returns the time, by default now, as ISO 8601 with milliseconds: the column compares times as texts. */
function toTime(text: string | null | undefined): string {
  const micros = text == null ? null : toMicros(text);
  return new Date(micros === null ? Date.now() : Math.floor(micros / 1000)).toISOString();
}

function toText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function toFeedback(row: FeedbackRow, { project_id }: PartitionKey): Feedback {
  const body: unknown = JSON.parse(row.body);
  const sent = isRecord(body) ? body : {};
  return Feedback.parse({
    ...row,
    trace_id: sent.trace_id ?? null,
    session_id: project_id,
    score: sent.score ?? null,
    value: sent.value ?? null,
    correction: sent.correction ?? null,
    feedback_source: sent.feedback_source ?? { type: row.source },
    modified_at: row.modified_at ?? row.created_at,
  });
}
