import { expect, test } from "vitest";
import { textsAt } from "../../../src/isolate/agent/text-paths.ts";

const VALUE = { a: ["one", "two", ["three"]], b: { c: 3, d: null }, e: "four" };

test.each<[string, string[]]>([
  ["a[0]", ["one"]],
  ["a[-1][0]", ["three"]],
  ["a[3]", []],
  ["a[-4]", []],
  ["a[]", []],
  ["a[x]", []],
  ["a[1.5]", []],
  ["a[ ]", []],
  ["{a[x],e}", ["four"]],
  ["b.c", ["3"]],
  ["b.d", []],
])("the path %s selects %j", (path, texts) => {
  expect(textsAt(VALUE, path)).toEqual(texts);
});
