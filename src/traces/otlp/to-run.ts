import { isRecord } from "../../shared/guards.ts";
import { Uuid } from "../../shared/schema.ts";
import { toIso } from "../../shared/times.ts";
import type { IncomingRun } from "../changes.ts";
import { toDottedOrder } from "../dotted-order.ts";
import { fromValid, parseFields } from "../ingest/incoming.ts";
import { cutText, RunPlacement } from "../ingest/ingest-schema.ts";
import { MAX_NAME_CHARS, MAX_TAG_CHARS, MAX_TAGS } from "../limits.ts";
import { type ReadEvents, readEvents } from "./events.ts";
import { fieldsBelow, parseText, type RunDraft, readAttributes } from "./run-draft.ts";
import type { OtlpSpan, SpanEvent } from "./span.ts";
import type { SpanIds, SpanRefs } from "./span-ids.ts";

/** Codes of a span's status. */
const [OK, ERROR] = [1, 2];
const NS_PER_US = 1000n;
/** Attributes that place the run in its trace, so they are not metadata. */
const REFERENCES = /^langsmith\.(trace\.id|span\.(id|parent_id|dotted_order))$/;

/** Converts a span to a run. @throws AppError when the run is not valid */
export function toRun(span: OtlpSpan, ids: SpanIds, project: string | null): IncomingRun {
  const refs = ids.refsOf(span);
  const events = readEvents(span.attributes, span.events);
  const draft = readAttributes(events.attributes);
  const start_us = toMicros(span.start_ns);
  const { span_ids, ...placement } = refs;
  const loc = [`span ${span.span_id}`];
  const sent = {
    ...placement,
    dotted_order: placement.dotted_order ?? rootOrder(refs, start_us),
    session_name: textOf(draft, "project") ?? project,
  };
  // Only the placement can be invalid: a time of up to 20 digits has a four-digit year, and the rest is built here.
  const run = {
    ...parseFields(RunPlacement, sent, loc),
    name: cutText(textOf(draft, "name") ?? span.name, MAX_NAME_CHARS) || undefined,
    run_type: draft.run_type ?? "chain",
    start_time: start_us,
    end_time: span.end_ns > 0n ? toMicros(span.end_ns) : undefined,
    error: errorOf(span, events),
    inputs: payloadOf(draft, "input", events.messages.inputs),
    outputs: payloadOf(draft, "output", events.messages.outputs),
    extra: extraOf(span, draft),
    events: events.others.length > 0 ? events.others.map(toEvent) : undefined,
    tags: tagsOf(draft),
    session_id: projectIdOf(draft),
  };
  return { ...fromValid(run, "post", loc), span_ids };
}

function rootOrder({ id, parent_run_id }: SpanRefs, start_us: number): string | null {
  return parent_run_id === null ? toDottedOrder(start_us, id) : null;
}

function toMicros(ns: bigint): number {
  return Number(ns / NS_PER_US);
}

function textOf(draft: RunDraft, field: "name" | "project"): string | undefined {
  const value = draft.fields.get(field);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** @returns the project's id, or `null`: some libraries put the id of a conversation into the same attribute */
function projectIdOf(draft: RunDraft): string | null {
  const value = draft.fields.get("project_id");
  return value === undefined ? null : (Uuid.safeParse(value).data ?? null);
}

function errorOf({ status }: OtlpSpan, { exception }: ReadEvents): string | undefined {
  if (status.code === OK) return undefined;
  if (exception !== null) return exception;
  return status.code === ERROR ? status.message || "Error" : undefined;
}

/** Prefers messages to the raw value: the raw value repeats them in the library's own format. */
function payloadOf(draft: RunDraft, side: "input" | "output", eventMessages: unknown[]): unknown {
  const messages = messagesOf(draft, side, eventMessages);
  const documents = side === "output" ? draft.fields.get("outputs.documents") : undefined;
  const system_instructions = draft.fields.get("inputs.system_instructions");
  if (messages !== undefined) {
    const isSystem = side === "input" && system_instructions !== undefined;
    return isSystem ? { system_instructions, messages } : { messages };
  }
  if (Array.isArray(documents)) return { documents: documents.map(toDocument) };
  const value = draft.fields.get(`${side}s`);
  return value === undefined || isRecord(value) ? value : { [side]: value };
}

function messagesOf(draft: RunDraft, side: "input" | "output", eventMessages: unknown[]): unknown {
  const listed = draft.fields.get(`${side}s.messages`);
  const answer = side === "output" ? answerOf(draft) : undefined;
  return listed ?? answer ?? (eventMessages.length > 0 ? eventMessages : undefined);
}

/** Builds the assistant message of a model that sends its text and its tool calls as separate attributes. */
function answerOf({ fields }: RunDraft): unknown[] | undefined {
  const [content, calls] = [fields.get("outputs.text"), fields.get("outputs.tool_calls")];
  if (content === undefined && calls === undefined) return undefined;
  const tool_calls = Array.isArray(calls) ? calls.filter(isRecord).map(toToolCall) : [];
  const message = { role: "assistant", content: content ?? "" };
  return [tool_calls.length === 0 ? message : { ...message, tool_calls }];
}

function toToolCall({ toolCallId: id, toolName: name, input, args }: Record<string, unknown>) {
  return { id, name, args: parseText(input ?? args), type: "tool_call" };
}

function toDocument(document: unknown): unknown {
  if (!isRecord(document)) return document;
  const { content, metadata, ...rest } = document;
  return { page_content: content, metadata: parseText(metadata), ...rest };
}

function metadataOf({ resource }: OtlpSpan, draft: RunDraft): Map<string, unknown> {
  const metadata = new Map(resource);
  for (const [name, value] of draft.rest) if (!REFERENCES.test(name)) metadata.set(name, value);
  for (const [name, value] of fieldsBelow(draft, "metadata")) metadata.set(name, value);
  return metadata;
}

function extraOf(span: OtlpSpan, draft: RunDraft) {
  const { scope, links } = span;
  const usage = usageOf(draft);
  const params = fieldsBelow(draft, "invocation_params");
  const metadata = metadataOf(span, draft);
  const session = draft.fields.get("project_id");
  if (session !== undefined && projectIdOf(draft) === null) metadata.set("session_id", session);
  const model = params.get("model");
  if (model !== undefined && !metadata.has("ls_model_name")) metadata.set("ls_model_name", model);
  if (usage !== undefined) metadata.set("usage_metadata", usage);
  const otel = {
    ...(scope === "" ? {} : { scope }),
    ...(links.length === 0
      ? {}
      : { links: links.map((link) => ({ ...link, attributes: toObject(link.attributes) })) }),
  };
  return {
    metadata: toObject(metadata),
    ...(params.size === 0 ? {} : { invocation_params: toObject(params) }),
    ...(Object.keys(otel).length === 0 ? {} : { otel }),
  };
}

/** Builds `usage_metadata`. A name with a dot, such as `input_token_details.cache_read`, is a nested count. */
function usageOf(draft: RunDraft): Record<string, unknown> | undefined {
  const usage: Record<string, unknown> = {};
  const details = new Map<string, Map<string, unknown>>();
  for (const [name, value] of fieldsBelow(draft, "usage")) {
    const [field = "", detail] = name.split(".");
    if (detail === undefined) usage[field] = value;
    else details.set(field, (details.get(field) ?? new Map()).set(detail, value));
  }
  for (const [field, values] of details) usage[field] ??= toObject(values);
  return Object.keys(usage).length === 0 ? undefined : usage;
}

function toEvent({ name, time_ns, attributes }: SpanEvent) {
  return { name, time: toIso(toMicros(time_ns)), ...toObject(attributes) };
}

/** Accepts a list, a JSON list, or comma-separated text. */
function tagsOf(draft: RunDraft): string[] | undefined {
  const value = parseText(draft.fields.get("tags"));
  const tags = typeof value === "string" ? value.split(",") : value;
  if (!Array.isArray(tags)) return undefined;
  const trimmed = tags.map((tag) => cutText(String(tag).trim(), MAX_TAG_CHARS));
  return [...new Set(trimmed)].filter((tag) => tag !== "").slice(0, MAX_TAGS);
}

function toObject(map: Iterable<[string, unknown]>): Record<string, unknown> {
  return Object.fromEntries(map);
}
