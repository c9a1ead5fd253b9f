import { gzipSync } from "node:zlib";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

export type Body = {
  path: string;
  type: string;
  /** Content-Encoding of the bytes. */
  encoding?: "gzip";
  bytes: Uint8Array<ArrayBuffer>;
};

const BOUNDARY = "----heddle-bench";
const WORDS =
  "the agent reads a question about trains looks at two tables and answers with care".split(" ");
const encoder = new TextEncoder();

/** A POST /runs/batch of new runs of about this many bytes each. */
export function batchBody(session_name: string, runs: number, bytes: number): Body {
  const post = Array.from({ length: runs }, (_, n) => wireRun(session_name, n, bytes));
  const text = JSON.stringify({ post });
  return { path: "/runs/batch", type: "application/json", bytes: encoder.encode(text) };
}

/** The multipart form that the SDK sends: a part for each run and each payload. */
export function multipartBody(session_name: string, runs: number, bytes: number): Body {
  const texts: string[] = [];
  const add = (name: string, value: unknown) => {
    const json = JSON.stringify(value);
    const type = `application/json; length=${json.length}`;
    const head = `Content-Disposition: form-data; name="${name}"\r\nContent-Type: ${type}`;
    texts.push(`--${BOUNDARY}\r\n${head}\r\n\r\n${json}\r\n`);
  };
  for (let n = 0; n < runs; n++) {
    const { inputs, outputs, extra, ...run } = wireRun(session_name, n, bytes);
    add(`post.${run.id}`, run);
    add(`post.${run.id}.inputs`, inputs);
    add(`post.${run.id}.outputs`, outputs);
    add(`post.${run.id}.extra`, extra);
  }
  texts.push(`--${BOUNDARY}--\r\n`);
  const type = `multipart/form-data; boundary=${BOUNDARY}`;
  return { path: "/runs/multipart", type, bytes: encoder.encode(texts.join("")) };
}

const SPANS_PER_TRACE = 10;
type Write = (writer: BinaryWriter) => unknown;

/** An ExportTraceServiceRequest of model calls in traces of ten, children first, as exporters compress it. */
export function otlpBody(_: string, spans: number, bytes: number): Body {
  const body = new BinaryWriter();
  add(body, 1, (resource_spans) => {
    add(resource_spans, 2, (scope_spans) => {
      for (let n = 0; n < spans; n++) add(scope_spans, 2, spanWriter(spans - 1 - n, bytes));
    });
  });
  const type = "application/x-protobuf";
  const packed = new Uint8Array(gzipSync(body.finish()));
  return { path: "/otel/v1/traces", type, encoding: "gzip", bytes: packed };
}

/** Returns the writer of a span. Trace ids are random, so each body adds traces to those of earlier bodies. */
function spanWriter(n: number, bytes: number): Write {
  const trace = Buffer.alloc(16);
  const offset = n % SPANS_PER_TRACE;
  if (offset === SPANS_PER_TRACE - 1) crypto.getRandomValues(currentTrace);
  currentTrace.copy(trace);
  const id = (number: number) => Buffer.from(number.toString(16).padStart(16, "0"), "hex");
  const now = BigInt(Date.now()) * 1_000_000n;
  const spare = Math.max(100, bytes - 900);
  return (span) => {
    span.tag(1, WireType.LengthDelimited).bytes(trace);
    span.tag(2, WireType.LengthDelimited).bytes(id(offset + 1));
    if (offset > 0) span.tag(4, WireType.LengthDelimited).bytes(id(Math.ceil(offset / 2)));
    span.tag(5, WireType.LengthDelimited).string("ChatModel");
    span.tag(7, WireType.Bit64).fixed64(now + BigInt(offset) * 1000n);
    span.tag(8, WireType.Bit64).fixed64(now + 900_000_000n);
    for (const [key, value] of attributesOf(n, spare)) addAttribute(span, key, value);
  };
}

const currentTrace = Buffer.alloc(16);

function attributesOf(n: number, spare: number): [string, string | number][] {
  return [
    ["gen_ai.operation.name", "chat"],
    ["gen_ai.system", "acme"],
    ["gen_ai.request.model", "m"],
    ["gen_ai.usage.input_tokens", 120],
    ["gen_ai.usage.output_tokens", 40],
    ["gen_ai.prompt.0.role", "system"],
    ["gen_ai.prompt.0.content", text(spare * 0.4)],
    ["gen_ai.prompt.1.role", "user"],
    ["gen_ai.prompt.1.content", text(spare * 0.3)],
    ["gen_ai.completion.0.role", "assistant"],
    ["gen_ai.completion.0.content", text(spare * 0.3)],
    ["langsmith.metadata.user_id", `u${n % 1000}`],
    ["langsmith.metadata.thread_id", `t${n % 50}`],
    ["langsmith.span.tags", `bench,shard-${n % 10}`],
  ];
}

function addAttribute(span: BinaryWriter, key: string, value: string | number): void {
  add(span, 9, (pair) => {
    pair.tag(1, WireType.LengthDelimited).string(key);
    add(pair, 2, (any) => {
      if (typeof value === "string") any.tag(1, WireType.LengthDelimited).string(value);
      else any.tag(3, WireType.Varint).int64(value);
    });
  });
}

function add(writer: BinaryWriter, field: number, write: Write): void {
  write(writer.tag(field, WireType.LengthDelimited).fork());
  writer.join();
}

function wireRun(session_name: string, n: number, bytes: number) {
  const now = Date.now();
  const time = now.toString(16).padStart(12, "0");
  const id = `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`;
  const start_time = new Date(now).toISOString().replace("Z", "000Z");
  const usage_metadata = { input_tokens: 120, output_tokens: 40, total_tokens: 160 };
  const metadata = { user_id: `u${n % 1000}`, thread_id: `t${n % 50}`, env: "prod" };
  const runtime = { sdk: "langsmith-js", platform: "node", library: "langsmith" };
  // A run has about 900 bytes beside its texts.
  const spare = Math.max(100, bytes - 900);
  return {
    ...{ id, trace_id: id, session_name, name: "ChatModel", run_type: "llm", start_time },
    end_time: new Date(now + 900).toISOString(),
    dotted_order: `${start_time.replaceAll(/[-:.]/g, "")}${id}`,
    inputs: {
      messages: [
        { role: "system", content: text(spare * 0.4) },
        { role: "user", content: text(spare * 0.3) },
      ],
    },
    outputs: {
      generations: [[{ text: text(spare * 0.3), message: { kwargs: { usage_metadata } } }]],
    },
    extra: { metadata: { ...metadata, ls_provider: "acme", ls_model_name: "m" }, runtime },
    tags: ["bench", `shard-${n % 10}`],
  };
}

function text(chars: number): string {
  let words = "";
  while (words.length < chars) words += `${WORDS[Math.floor(Math.random() * WORDS.length)]} `;
  return words.slice(0, chars);
}
