import fc from "fast-check";
import { expect, test } from "vitest";
import { GAP_BYTES, unpackTexts } from "../../src/traces/rows/packed-texts.ts";
import { TextPacker } from "../../src/traces/rows/text-packer.ts";

const SEED = 20_261_123;
const ROUNDS = 400;

const text = fc.oneof(
  fc.string({ maxLength: 12, unit: "grapheme" }),
  fc.string({ minLength: 60, maxLength: 400 }),
);
type Step = { kind: "copy" | "encode" | "write" | "null" | "removed"; from: number; count: number };
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom("copy", "encode", "write", "null", "removed"),
  from: fc.nat(20),
  count: fc.integer({ min: 1, max: 6 }),
});

type Source = { texts: string[]; bytes: Uint8Array; starts: number[]; encoded: Uint8Array[] };

/** Joins texts with a gap behind each, as frames of segments do. */
function sourceOf(texts: string[]): Source {
  const encoded = texts.map((one) => new TextEncoder().encode(one));
  const starts: number[] = [];
  let size = 0;
  for (const { length } of encoded) {
    starts.push(size);
    size += length + GAP_BYTES;
  }
  const bytes = new Uint8Array(size);
  for (const [n, one] of encoded.entries()) bytes.set(one, starts[n]);
  return { texts, bytes, starts, encoded };
}

/** Adds a text in one of the ways. Returns its size. */
function add(packer: TextPacker, kind: Step["kind"], source: Source, n: number): number {
  const { bytes, starts, encoded } = source;
  const utf8 = encoded[n] ?? new Uint8Array();
  switch (kind) {
    case "null":
      return packer.addNull();
    case "encode":
      return packer.encode(source.texts[n] ?? "");
    case "write":
      return packer.write(utf8.length, (target, start) => target.set(utf8, start));
    default:
      return packer.copy(bytes, starts[n] ?? 0, utf8.length);
  }
}

/** Follows a step. Returns the texts that it adds. */
function follow(packer: TextPacker, { kind, from, count }: Step, source: Source) {
  const some = source.texts.slice(from, from + count);
  for (const n of some.keys()) {
    const size = add(packer, kind, source, from + n);
    expect(size).toBe(kind === "null" ? 0 : source.encoded[from + n]?.length);
  }
  if (kind === "null") return some.map(() => null);
  if (kind !== "removed" || some.length === 0) return some;
  packer.removeLast();
  return some.slice(0, -1);
}

test("a packer returns the texts that it was given, however they came", () => {
  const given = fc.record({
    texts: fc.array(text, { minLength: 1, maxLength: 20 }),
    steps: fc.array(step, { maxLength: 60 }),
  });
  const property = fc.property(given, ({ texts, steps }) => {
    const source = sourceOf(texts);
    const packer = new TextPacker();
    for (const part of [steps.slice(0, 30), steps.slice(30)]) {
      const expected = part.flatMap((one) => follow(packer, one, source));
      const { bytes, sizes } = packer.take();
      expect(unpackTexts({ bytes: new Uint8Array(bytes), sizes })).toEqual(expected);
    }
  });
  fc.assert(property, { seed: SEED, numRuns: ROUNDS });
});

test("texts that follow one another in a source are one copy, with the gaps of the source", () => {
  const { bytes, starts, encoded } = sourceOf(["a", "b", "c"]);
  bytes.fill(7, 1, 1 + GAP_BYTES);
  const packer = new TextPacker();
  for (const [n, at] of starts.entries()) packer.copy(bytes, at, encoded[n]?.length ?? 0);
  const whole = bytes.slice(0, -GAP_BYTES);
  expect(new Uint8Array(packer.take().bytes)).toEqual(whole);
});
