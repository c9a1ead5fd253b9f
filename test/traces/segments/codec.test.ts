import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { mayContain } from "../../../src/traces/segments/codec/bloom.ts";
import type { RunVersion } from "../../../src/traces/segments/codec/columns.ts";
import { encodeSegment, encodeSegments } from "../../../src/traces/segments/codec/encode.ts";
import { unpack, unpackFrame } from "../../../src/traces/segments/codec/frames.ts";
import { SegmentHead } from "../../../src/traces/segments/codec/head.ts";
import { readStored } from "../../../src/traces/segments/codec/stored-run.ts";
import { termOf, termsOfKey } from "../../../src/traces/terms.ts";

const text = fc.string({ unit: "grapheme", maxLength: 40 });
const optional = fc.option(text, { nil: null });
const number = fc.option(fc.maxSafeInteger(), { nil: null });
const id = fc.oneof(fc.uuid(), text);
const term = fc.tuple(fc.constantFrom("m" as const, "tag" as const), text, text);

const run: fc.Arbitrary<RunVersion> = fc.record({
  ...{ id, row: fc.nat(), seq: fc.nat(), changed_seq: fc.nat() },
  ...{ start_us: fc.integer({ min: 0, max: 4e12 }).map((ms) => ms * 1000 + 1), end_us: number },
  ...{ first_token_us: number, execution_order: number, input_keys: number, output_keys: number },
  ...{ total_tokens: number, prompt_tokens: number, completion_tokens: number },
  ...{ total_cost: optional, prompt_cost: optional, completion_cost: optional },
  ...{ trace_id: id, parent_run_id: fc.option(id, { nil: null }), reference_example_id: optional },
  ...{ name: optional, run_type: optional, trace_tier: optional, dotted_order: optional },
  ...{ thread_id: optional, tags: optional, pointers: fc.constantFrom(null, '{"a":{"bytes":3}}') },
  ...{ inputs: optional, outputs: optional, extra: optional, events: optional },
  ...{ serialized: optional, error: optional, digests: optional, is_patched: fc.boolean() },
  terms: fc
    .array(term)
    .map((list) => [...new Set(list.map((one) => termOf(...one)))].sort(ascending)),
});

function decode(runs: RunVersion[]): RunVersion[] {
  const { head: packed, head_bytes, ids, body } = encodeSegment(runs);
  const head = new SegmentHead(unpack(packed, head_bytes), ids);
  const frames = head.frames.map((entry) =>
    unpackFrame(body.subarray(entry.offset, entry.offset + entry.packed_bytes), entry),
  );
  return runs.map((_, n) => {
    const frame = frames[head.frames.findLastIndex(({ first }) => first <= n)];
    if (frame === undefined) throw new Error("No frame");
    return readStored(head, frame, n);
  });
}

test("a segment has the columns of its runs", () => {
  const runs = fc.array(run, { minLength: 1, maxLength: 150 });
  fc.assert(
    fc.property(runs, (list) => {
      expect(decode(list)).toEqual(list);
    }),
    { numRuns: 40 },
  );
});

test("a segment finds the runs of its terms, and its filter has them and their keys", () => {
  const runs = fc.array(run, { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(runs, term, (list, [kind, key, value]) => {
      const { head, head_bytes, ids, bloom } = encodeSegment(list);
      const { terms } = new SegmentHead(unpack(head, head_bytes), ids);
      const all = termsOfKey(kind, key);
      for (const one of [...list.flatMap((each) => each.terms), termOf(kind, key, value)]) {
        const having = list.flatMap((each, n) => (each.terms.includes(one) ? [n] : []));
        expect([...terms.find([{ first: one, last: one }])]).toEqual(having);
        expect(having.length === 0 || mayContain(bloom, { first: one, last: one })).toBe(true);
      }
      const inKey = list.filter((each) => each.terms.some((t) => t >= all.first && t <= all.last));
      expect(terms.find([all]).size).toBe(inKey.length);
      expect(inKey.length === 0 || mayContain(bloom, all)).toBe(true);
    }),
    { numRuns: 40 },
  );
});

test("a segment counts the payloads in R2, and no attachment", () => {
  const [one] = fc.sample(run, 1);
  if (one === undefined) throw new Error("No run");
  const attachments = { bytes: { key: "a", content_type: "text/plain", bytes: 5 } };
  const pointers = JSON.stringify({ inputs: { key: "i", bytes: 3 }, attachments });
  const { payload_bytes } = encodeSegment([{ ...one, pointers }]);
  expect(payload_bytes).toBe(encodeSegment([{ ...one, pointers: null }]).payload_bytes + 3);
});

test("runs that do not fit a row of SQLite together are cut into several segments", () => {
  const [base] = fc.sample(run, 1);
  if (!base) throw new Error("No run");
  const noise = () =>
    Array.from({ length: 10 }, () => randomBytes(45_000).toString("base64")).join("");
  const runs = Array.from({ length: 12 }, (_, n) => ({ ...base, id: `${n}`, inputs: noise() }));
  const segments = [...encodeSegments(runs)];
  expect(segments.length).toBeGreaterThan(1);
  expect(segments.reduce((sum, segment) => sum + segment.runs, 0)).toBe(12);
  for (const { head, body, ids, bloom } of segments) {
    expect(head.length + body.length + ids.length + bloom.length).toBeLessThan(2_000_000);
  }
});

function ascending(a: number, b: number): number {
  return a - b;
}
