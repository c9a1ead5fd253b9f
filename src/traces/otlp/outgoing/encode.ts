import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { Attributes, OtlpSpan, SpanEvent } from "../span.ts";

const { LengthDelimited: DELIMITED, Bit64: FIXED64, Varint: VARINT } = WireType;

type Write = (writer: BinaryWriter) => void;

/**
 * Encodes an ExportTraceServiceRequest of one resource and scope. The comment of `decodeProtobuf` has the URL with the
 * numbers of the fields. Links of spans are left out: runs have none.
 */
export function encodeSpans(
  resource: Attributes,
  scope: string,
  spans: readonly OtlpSpan[],
): Uint8Array<ArrayBuffer> {
  const writer = new BinaryWriter();
  message(writer, 1, (resourceSpans) => {
    message(resourceSpans, 1, (inner) => writeAttributes(inner, 1, resource));
    message(resourceSpans, 2, (scopeSpans) => {
      message(scopeSpans, 1, (inner) => writeText(inner, 1, scope));
      for (const span of spans) message(scopeSpans, 2, (inner) => writeSpan(inner, span));
    });
  });
  return writer.finish();
}

function writeSpan(writer: BinaryWriter, span: OtlpSpan): void {
  writeHex(writer, 1, span.trace_id);
  writeHex(writer, 2, span.span_id);
  if (span.parent_span_id !== "") writeHex(writer, 4, span.parent_span_id);
  writeText(writer, 5, span.name);
  writeTime(writer, 7, span.start_ns);
  writeTime(writer, 8, span.end_ns);
  writeAttributes(writer, 9, span.attributes);
  for (const event of span.events) message(writer, 11, (inner) => writeEvent(inner, event));
  message(writer, 15, (inner) => {
    writeText(inner, 2, span.status.message);
    inner.tag(3, VARINT).int32(span.status.code);
  });
}

function writeEvent(writer: BinaryWriter, { time_ns, name, attributes }: SpanEvent): void {
  writeTime(writer, 1, time_ns);
  writeText(writer, 2, name);
  writeAttributes(writer, 3, attributes);
}

function writeAttributes(writer: BinaryWriter, field: number, attributes: Attributes): void {
  for (const [key, value] of attributes) {
    message(writer, field, (pair) => {
      writeText(pair, 1, key);
      message(pair, 2, (inner) => writeValue(inner, value));
    });
  }
}

/** Writes objects, and lists of other values than texts, as JSON: few receivers read a `kvlist_value`. */
function writeValue(writer: BinaryWriter, value: unknown): void {
  if (typeof value === "string") writeText(writer, 1, value);
  else if (typeof value === "boolean") writer.tag(2, VARINT).bool(value);
  else if (typeof value === "number") writeNumber(writer, value);
  else if (Array.isArray(value) && value.every((item) => typeof item === "string")) {
    message(writer, 5, (list) => {
      for (const item of value) message(list, 1, (inner) => writeValue(inner, item));
    });
  } else writeText(writer, 1, JSON.stringify(value) ?? "");
}

function writeNumber(writer: BinaryWriter, value: number): void {
  if (Number.isSafeInteger(value)) writer.tag(3, VARINT).int64(value);
  else writer.tag(4, FIXED64).double(value);
}

function message(writer: BinaryWriter, field: number, write: Write): void {
  writer.tag(field, DELIMITED).fork();
  write(writer);
  writer.join();
}

function writeText(writer: BinaryWriter, field: number, text: string): void {
  writer.tag(field, DELIMITED).string(text);
}

function writeHex(writer: BinaryWriter, field: number, hex: string): void {
  writer.tag(field, DELIMITED).bytes(Buffer.from(hex, "hex"));
}

function writeTime(writer: BinaryWriter, field: number, ns: bigint): void {
  writer.tag(field, FIXED64).fixed64(ns);
}
