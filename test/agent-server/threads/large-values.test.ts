import fc from "fast-check";
import { expect, test } from "vitest";
import { largeValues } from "../../../src/agent-server/threads/object/log/large-values.ts";

const valuesOf = (text: string, min: number) =>
  largeValues(text, min).map(({ path, start, end }) => [path, text.slice(start, end)]);

test("large fields of objects are found, and a list as one value", () => {
  const data = { n: 1, picture: "x".repeat(20), inner: { list: ["[", '"]', 12345678] }, s: '"\\' };
  expect(valuesOf(JSON.stringify(data), 15)).toEqual([
    ['/"picture"', JSON.stringify(data.picture)],
    ['/"inner"/"list"', JSON.stringify(data.inner.list)],
  ]);
});

test("an object without large fields is one value", () => {
  expect(valuesOf('{"a": {"b": 1, "c": 2}, "d":"e"}', 10)).toEqual([['/"a"', '{"b": 1, "c": 2}']]);
});

test("values of any JSON are JSON, in order and apart", () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(20), (text, min) => {
      let last = 0;
      for (const { start, end } of largeValues(text, min)) {
        expect(start).toBeGreaterThanOrEqual(last);
        JSON.parse(text.slice(start, end));
        last = end;
      }
    }),
  );
});

test("a text that is cut has none", () => {
  const text = JSON.stringify({ a: "x".repeat(20), b: ["y".repeat(20)] });
  for (let at = 0; at < text.length; at++) expect(largeValues(text.slice(0, at), 10)).toEqual([]);
});
