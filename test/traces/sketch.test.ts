import fc from "fast-check";
import { expect, test } from "vitest";
import { DecimalSum } from "../../src/traces/decimals.ts";
import { Sketch } from "../../src/traces/sketch.ts";

function sketchOf(values: number[]): Sketch {
  const sketch = new Sketch();
  for (const value of values) sketch.add(value);
  return sketch;
}

/** Returns the exact values on both sides of the quantile. */
function around(values: number[], q: number): [number, number] {
  const sorted = values.toSorted((a, b) => a - b);
  const at = q * (sorted.length - 1);
  return [sorted[Math.floor(at)] ?? 0, sorted[Math.ceil(at)] ?? 0];
}

test("percentiles of few values are interpolated between their neighbours", () => {
  expect(sketchOf([]).quantile(0.5)).toBeNull();
  expect(sketchOf([3]).quantile(0.99)).toBe(3);
  expect(sketchOf([4, 1, 2]).quantile(0.5)).toBe(2);
  expect(sketchOf([1, 2]).quantile(0.5)).toBe(1.5);
});

test("percentiles of any parts of any values, put together, are half a per cent off at most", () => {
  const value = fc.oneof(fc.integer({ min: 0, max: 10 }), fc.integer({ min: 0, max: 10 ** 12 }));
  const parts = fc.array(fc.array(value, { maxLength: 450 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(parts, fc.constantFrom(0, 0.5, 0.9, 0.99, 1), (lists, q) => {
      const whole = new Sketch();
      for (const list of lists) whole.merge(structuredClone(sketchOf(list).toData()));
      const all = lists.flat();
      const found = whole.quantile(q);
      if (all.length === 0) return found === null;
      const [low, high] = around(all, q);
      return found !== null && found >= low * 0.995 - 1e-9 && found <= high * 1.005 + 1e-9;
    }),
  );
});

test("a sketch of a million values stays small", () => {
  const sketch = new Sketch();
  for (let n = 0; n < 1_000_000; n++) sketch.add((n * 7919) % 1_000_003);
  expect(JSON.stringify(sketch.toData()).length).toBeLessThan(40_000);
  expect(sketch.quantile(0.5)).toBeGreaterThan(497_000);
  expect(sketch.quantile(0.5)).toBeLessThan(503_000);
});

test("sums of decimals have no rounding error", () => {
  const sum = new DecimalSum();
  expect(sum.toText()).toBeNull();
  for (const text of ["0.1", "0.2", null, "-0.05", "1", "0.000000000000000000001"]) sum.add(text);
  expect(sum.toText()).toBe("1.250000000000000000001");
});

test("sums of any decimals are exact, in as few digits as they need", () => {
  const digits = fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n });
  const few = fc.bigInt({ min: -(10n ** 8n), max: 10n ** 8n });
  const decimal = fc.record({ value: fc.oneof(few, digits), places: fc.nat(20) });
  const property = fc.property(fc.array(decimal, { minLength: 1, maxLength: 20 }), (decimals) => {
    const sum = new DecimalSum();
    for (const { value, places } of decimals) sum.add(textOf(value, places));
    const expected = decimals.reduce((all, { value, places }) => {
      return all + value * 10n ** BigInt(20 - places);
    }, 0n);
    const shortest = textOf(expected, 20).replace(/\.?0+$/, "");
    expect(sum.toText()).toBe(shortest);
  });
  fc.assert(property, { seed: 20_261_124, numRuns: 500 });
});

function textOf(value: bigint, places: number): string {
  const digits = String(value < 0n ? -value : value).padStart(places + 1, "0");
  const at = digits.length - places;
  const text = places === 0 ? digits : `${digits.slice(0, at)}.${digits.slice(at)}`;
  return value < 0n ? `-${text}` : text;
}
