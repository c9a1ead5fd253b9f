import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { AppError } from "../../src/shared/errors.ts";
import { otlpError } from "../../src/traces/otlp/answers.ts";
import { readEvents } from "../../src/traces/otlp/events.ts";
import type { Attributes } from "../../src/traces/otlp/span.ts";
import { type TestWorkspace, workspace } from "../support/workspace.ts";
import {
  field,
  hexId,
  JSON_TYPE,
  PROTOBUF,
  runsByName,
  sendSpans,
  spanBytes,
  type TestSpan,
  toJson,
  toProtobuf,
  wrapSpans,
  writeValue,
} from "./support/otlp.ts";
import { projectId } from "./support/runs.ts";

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});

const span = (fields: Partial<TestSpan> = {}): TestSpan => ({
  trace: hexId(16),
  id: hexId(8),
  ...fields,
});

async function answerOf(body: BodyInit, type: string, headers: Record<string, string> = {}) {
  const answer = await sendSpans(body, { key: ours.editor, type, project: "limits", headers });
  const bytes = await answer.bytes();
  return { status: answer.status, type: answer.headers.get("Content-Type"), bytes };
}

/** Returns the partial success of an answer in protobuf, read without the library's messages. */
async function rejectedOf(body: BodyInit): Promise<string> {
  const { status, bytes } = await answerOf(body, PROTOBUF);
  expect(status).toBe(200);
  return Buffer.from(bytes).toString("latin1");
}

async function gzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function nested(depth: number): Uint8Array {
  let value = new BinaryWriter();
  writeValue(value, "deep");
  for (let n = 0; n < depth; n++) {
    const inner = value.finish();
    value = new BinaryWriter();
    field(value, 5, (list) => field(list, 1, (any) => any.raw(inner)));
  }
  const pair = new BinaryWriter().tag(1, WireType.LengthDelimited).string("deep");
  field(pair, 2, (any) => any.raw(value.finish()));
  const attribute = new BinaryWriter();
  return field(attribute, 9, (any) => any.raw(pair.finish())).finish();
}

test("attributes of many events are merged in one pass, the earliest first", () => {
  const [events, each] = [200, 20];
  const carriers = Array.from({ length: events }, (_, n) => {
    const pairs = Array.from({ length: each }, (_, k): [string, unknown] => [`a${n}.${k}`, k]);
    const attributes = new Map<string, unknown>([...pairs, ["of", n]]);
    return { name: "gen_ai.content.prompt", time_ns: 1n, attributes };
  });
  const own = new Map<string, unknown>([["own", 1]]);
  const mapType = Object.getPrototypeOf(own);
  const { set } = mapType;
  let copies = 0;
  mapType.set = function counted(this: Attributes, key: string, value: unknown) {
    copies += 1;
    return set.call(this, key, value);
  };
  const { attributes } = readEvents(own, carriers);
  mapType.set = set;
  expect([attributes.size, attributes.get("of")]).toEqual([events * each + 2, 0]);
  expect(copies).toBe(events * (each + 1) + 1);
});

describe("a request", () => {
  test.for([
    ["malformed protobuf", new Uint8Array([0x0a, 0xff, 0xff, 0xff, 0xff, 0x07]), PROTOBUF, 400],
    ["a group without end", new Uint8Array([0x0b, 0x0b, 0x0b]), PROTOBUF, 400],
    ["malformed JSON", "{", JSON_TYPE, 400],
    ["a list", "[]", JSON_TYPE, 400],
    ["another type", "x", "text/plain", 415],
    ["no type", new Uint8Array([1]), "", 415],
  ] as const)("with %s is refused with a status", async ([, body, type, status]) => {
    const answer = await answerOf(body, type);
    expect(answer.status).toBe(status);
    expect(answer.type).toBe(type === PROTOBUF ? PROTOBUF : "application/json");
    if (type === PROTOBUF) expect([...answer.bytes.slice(0, 2)]).toEqual([8, 3]);
    else expect(JSON.parse(Buffer.from(answer.bytes).toString())).toMatchObject({ code: 3 });
  });

  test("without a key, or with a key that only reads, is refused with a status", async () => {
    const none = await sendSpans(toProtobuf([span()]), {});
    expect([none.status, [...(await none.bytes()).slice(0, 2)]]).toEqual([401, [8, 16]]);
    const viewer = await sendSpans(toJson([span()]), { key: ours.viewer, type: JSON_TYPE });
    expect([viewer.status, await viewer.json()]).toMatchObject([403, { code: 7 }]);
    const bearer = { headers: { Authorization: `Bearer%20${ours.editor}` } };
    expect((await sendSpans(toProtobuf([span()]), bearer)).status).toBe(200);
  });

  test("may be empty, and compressed with gzip", async () => {
    expect((await answerOf(new Uint8Array(), PROTOBUF)).status).toBe(200);
    expect((await answerOf("{}", JSON_TYPE)).status).toBe(200);
    const packed = await gzip(new Uint8Array(toProtobuf([span({ name: "packed" })])));
    expect(await answerOf(packed, PROTOBUF, { "Content-Encoding": "gzip" })).toMatchObject({
      status: 200,
      bytes: new Uint8Array(),
    });
    const damaged = packed.slice(0, -8);
    expect((await answerOf(damaged, PROTOBUF, { "Content-Encoding": "gzip" })).status).toBe(400);
  });

  test("that unpacks to more than the limit is refused", async () => {
    const bomb = await gzip(new Uint8Array(41 * 1024 * 1024));
    expect(bomb.length).toBeLessThan(100_000);
    const answer = await answerOf(bomb, PROTOBUF, { "Content-Encoding": "gzip" });
    expect([answer.status, [...answer.bytes.slice(0, 2)]]).toEqual([413, [8, 8]]);
  });

  test("with millions of empty resources is refused", async () => {
    const empty = new Uint8Array(1_000_000).map((_, n) => (n % 2 === 0 ? 0x0a : 0));
    expect((await answerOf(empty, PROTOBUF)).status).toBe(413);
  });
});

describe("a span that is not valid", () => {
  const cases: [string, Partial<TestSpan>, string][] = [
    ["has no trace id", { trace: "" }, "trace_id: must be 16 bytes"],
    ["has ids of zeros", { trace: "0".repeat(32) }, "trace_id: must be 16 bytes"],
    ["has a short id", { id: "00ff" }, "span_id: must be 8 bytes"],
    ["has a long parent", { parent: "ff".repeat(9) }, "parent_span_id: must be 8 bytes"],
    ["has no start", { start_ms: 0 }, "start_time_unix_nano: required"],
    ["names no UUID", { attributes: { "langsmith.span.id": "x" } }, "must be a UUID"],
    [
      "names another workspace's project",
      { attributes: { "langsmith.trace.session_id": crypto.randomUUID() } },
      "not found",
    ],
  ];
  test.for(cases)("because it %s is rejected alone", async ([, fields, reason]) => {
    const project = `alone-${crypto.randomUUID()}`;
    const spans = [span({ name: "good" }), span({ name: "bad", ...fields })];
    for (const [body, type] of [
      [toProtobuf(spans), PROTOBUF],
      [toJson(spans), JSON_TYPE],
    ] as const) {
      const answer = await sendSpans(body, { key: ours.editor, type, project });
      const text = Buffer.from(await answer.bytes()).toString("latin1");
      expect([answer.status, text]).toEqual([200, expect.stringContaining(reason)]);
      if (type === JSON_TYPE) expect(JSON.parse(text).partialSuccess.rejectedSpans).toBe("1");
    }
    const runs = await runsByName(ours.viewer, (await projectId(ours.viewer, project)) ?? "");
    expect([...runs.keys()]).toEqual(["good"]);
  });

  test("because its bytes are damaged is rejected alone", async () => {
    const good = spanBytes(span({ name: "good" }));
    const cut = good.slice(0, -3);
    const long = new Uint8Array([0x4a, 0xff, 0xff, 0xff, 0xff, 0x0f]);
    expect(await rejectedOf(wrapSpans([cut, long, good]))).toContain("malformed span");
    expect((await rejectedOf(wrapSpans([cut, long, good]))).charCodeAt(3)).toBe(2);
  });

  test("because its values are too deep or too many is rejected alone", async () => {
    const deep = (depth: number) => Buffer.concat([spanBytes(span()), nested(depth)]);
    expect(await rejectedOf(wrapSpans([deep(60)]))).toBe("");
    expect(await rejectedOf(wrapSpans([deep(70)]))).toContain("nested more than 64 levels");
    expect(await rejectedOf(wrapSpans([deep(20_000)]))).toContain("nested more than 64 levels");
    const wide = Object.fromEntries(Array.from({ length: 5001 }, (_, n) => [`k${n}`, n]));
    expect(await rejectedOf(toProtobuf([span({ attributes: wide })]))).toContain("at most 5000");
    const events = Array.from({ length: 2001 }, () => ({ name: "e" }));
    expect(await rejectedOf(toProtobuf([span({ events })]))).toContain("at most 2000");
    const many = new Uint8Array(2_200_000).map((_, n) => (n % 2 === 0 ? 0x0a : 0));
    const pair = new BinaryWriter();
    field(pair, 9, (attribute) => {
      field(attribute, 2, (any) => field(any, 5, (list) => list.raw(many)));
    });
    const full = Buffer.concat([spanBytes(span()), pair.finish()]);
    expect(await rejectedOf(wrapSpans([full]))).toContain("more than 1000000 values");
  });

  test("after the first 10,000 of a request is rejected", async () => {
    // Spans without a start: a rejected span after the limit has another reason than one before it.
    const empty = new Uint8Array();
    const good = spanBytes(span());
    const spans = [...Array.from({ length: 10_000 }, () => good), empty];
    expect(await rejectedOf(wrapSpans(spans))).toContain("at most 10000 spans");
  });
});

test("a failure that is not the request's is a 503, which exporters retry", async () => {
  const request = new Request("https://heddle.test/otel/v1/traces", { method: "POST" });
  const failed = otlpError(request, AppError.from(new Error("secret")), new Headers());
  expect([failed.status, failed.headers.get("Retry-After")]).toEqual([503, "5"]);
  expect(await failed.json()).toEqual({ code: 14, message: "Internal error" });
  const stalled = new AppError("request_timeout", "The body came with pauses");
  expect(otlpError(request, stalled, new Headers()).status).toBe(503);
  const limited = new AppError("rate_limited", "Too many", { retry_after_seconds: 7 });
  const answer = otlpError(request, limited, new Headers({ "Retry-After": "7" }));
  expect([answer.status, answer.headers.get("Retry-After")]).toEqual([429, "7"]);
  expect(await answer.json()).toEqual({ code: 8, message: "Too many" });
});

test("random bytes never fail the isolate", async () => {
  const valid = toProtobuf([span({ attributes: { a: [1, "x", { b: true }] } })]);
  const edit = fc.array(fc.tuple(fc.nat(valid.length - 1), fc.integer({ min: 0, max: 255 })), {
    minLength: 1,
    maxLength: 6,
  });
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    edit.map((edits) => {
      const bytes = valid.slice();
      for (const [at, value] of edits) bytes[at] = value;
      return bytes;
    }),
    fc.nat(valid.length).map((length) => valid.slice(0, length)),
  );
  await fc.assert(
    fc.asyncProperty(body, async (bytes) => {
      const { status } = await answerOf(new Uint8Array(bytes), PROTOBUF);
      expect([200, 400]).toContain(status);
    }),
    { numRuns: 150 },
  );
});
