import { exports } from "cloudflare:workers";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { api } from "../../support/workspace.ts";
import type { ReadRun } from "./runs.ts";

type Value = string | number | boolean | Value[] | { [key: string]: Value };
export type TestEvent = { name: string; attributes?: Record<string, Value> };
export type TestSpan = {
  trace: string;
  id: string;
  parent?: string;
  name?: string;
  start_ms?: number;
  end_ms?: number;
  attributes?: Record<string, Value>;
  events?: TestEvent[];
  status?: { code: number; message?: string };
};

export const JSON_TYPE = "application/json";
export const PROTOBUF = "application/x-protobuf";

export function hexId(bytes: number): string {
  const id = crypto.getRandomValues(new Uint8Array(bytes));
  return Buffer.from(id).toString("hex");
}

const ns = (ms: number) => BigInt(ms) * 1_000_000n;
const times = ({ start_ms = Date.now(), end_ms = start_ms + 10 }: TestSpan) => ({
  start: ns(start_ms),
  end: ns(end_ms),
});

export function toJson(spans: TestSpan[], resource: Record<string, Value> = {}): string {
  const wire = spans.map((span) => ({
    traceId: span.trace,
    spanId: span.id,
    ...(span.parent ? { parentSpanId: span.parent } : {}),
    name: span.name ?? "step",
    startTimeUnixNano: String(times(span).start),
    endTimeUnixNano: String(times(span).end),
    attributes: jsonPairs(span.attributes ?? {}),
    events: (span.events ?? []).map(({ name, attributes = {} }) => ({
      name,
      timeUnixNano: String(times(span).start),
      attributes: jsonPairs(attributes),
    })),
    status: span.status ?? {},
  }));
  const scopeSpans = [{ scope: { name: "test" }, spans: wire }];
  return JSON.stringify({
    resourceSpans: [{ resource: { attributes: jsonPairs(resource) }, scopeSpans }],
  });
}

function jsonPairs(attributes: Record<string, Value>) {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: jsonValue(value) }));
}

function jsonValue(value: Value): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(jsonValue) } };
  if (typeof value === "object") return { kvlistValue: { values: jsonPairs(value) } };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

type Write = (writer: BinaryWriter) => void;

/** Adds a length-delimited field. */
export function field(writer: BinaryWriter, number: number, write: Write): BinaryWriter {
  write(writer.tag(number, WireType.LengthDelimited).fork());
  return writer.join();
}

export function toProtobuf(spans: TestSpan[], resource: Record<string, Value> = {}): Uint8Array {
  return wrapSpans(spans.map(spanBytes), resource);
}

/** Wraps encoded spans, which may be malformed. */
export function wrapSpans(spans: Uint8Array[], resource: Record<string, Value> = {}): Uint8Array {
  const body = new BinaryWriter();
  field(body, 1, (resource_spans) => {
    field(resource_spans, 1, (writer) => writePairs(writer, 1, resource));
    field(resource_spans, 2, (scope_spans) => {
      field(scope_spans, 1, (scope) => scope.tag(1, WireType.LengthDelimited).string("test"));
      for (const span of spans) field(scope_spans, 2, (writer) => writer.raw(span));
    });
  });
  return body.finish();
}

export function spanBytes(span: TestSpan): Uint8Array {
  const writer = new BinaryWriter();
  const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, "hex"));
  writer.tag(1, WireType.LengthDelimited).bytes(bytes(span.trace));
  writer.tag(2, WireType.LengthDelimited).bytes(bytes(span.id));
  if (span.parent) writer.tag(4, WireType.LengthDelimited).bytes(bytes(span.parent));
  writer.tag(5, WireType.LengthDelimited).string(span.name ?? "step");
  writer.tag(7, WireType.Bit64).fixed64(times(span).start);
  writer.tag(8, WireType.Bit64).fixed64(times(span).end);
  writePairs(writer, 9, span.attributes ?? {});
  for (const { name, attributes = {} } of span.events ?? []) {
    field(writer, 11, (event) => {
      event.tag(1, WireType.Bit64).fixed64(times(span).start);
      event.tag(2, WireType.LengthDelimited).string(name);
      writePairs(event, 3, attributes);
    });
  }
  field(writer, 15, (status) => {
    status.tag(2, WireType.LengthDelimited).string(span.status?.message ?? "");
    status.tag(3, WireType.Varint).int32(span.status?.code ?? 0);
  });
  return writer.finish();
}

function writePairs(writer: BinaryWriter, number: number, attributes: Record<string, Value>): void {
  for (const [key, value] of Object.entries(attributes)) {
    field(writer, number, (pair) => {
      pair.tag(1, WireType.LengthDelimited).string(key);
      field(pair, 2, (any) => writeValue(any, value));
    });
  }
}

export function writeValue(writer: BinaryWriter, value: Value): void {
  if (typeof value === "string") writer.tag(1, WireType.LengthDelimited).string(value);
  else if (typeof value === "boolean") writer.tag(2, WireType.Varint).bool(value);
  else if (Array.isArray(value)) {
    field(writer, 5, (list) => {
      for (const item of value) field(list, 1, (any) => writeValue(any, item));
    });
  } else if (typeof value === "object") field(writer, 6, (list) => writePairs(list, 1, value));
  else if (Number.isInteger(value)) writer.tag(3, WireType.Varint).int64(value);
  else writer.tag(4, WireType.Bit64).double(value);
}

type Sent = { key?: string; type?: string; project?: string; headers?: Record<string, string> };

export function sendSpans(
  body: BodyInit | null,
  { key, type = PROTOBUF, project, headers = {} }: Sent,
  path = "/otel/v1/traces",
): Promise<Response> {
  return exports.default.fetch(new URL(path, "https://heddle.test"), {
    method: "POST",
    body,
    headers: {
      ...(type === "" ? {} : { "Content-Type": type }),
      ...(key === undefined ? {} : { "X-Api-Key": key }),
      ...(project === undefined ? {} : { "Langsmith-Project": project }),
      ...headers,
    },
  });
}

/** Returns all runs of a project by name. */
export async function runsByName(key: string, session: string): Promise<Map<string, ReadRun>> {
  const runs: ReadRun[] = [];
  let cursor: string | null = null;
  do {
    const json: Record<string, unknown> = { session: [session], limit: 100, cursor };
    const response = await api("/runs/query", { key, json });
    const page = await response.json<{ runs: ReadRun[]; cursors?: { next: string | null } }>();
    runs.push(...page.runs);
    cursor = page.cursors?.next ?? null;
  } while (cursor !== null);
  return new Map(runs.map((run) => [String(run.name), run]));
}
