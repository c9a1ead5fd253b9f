import { expect, test } from "vitest";
import { parseJson, parseJsonc } from "../../../src/control-plane/builds/config/json.ts";

test.each([
  ['{"a": }', 1, 7, 'expected a value, found "}"'],
  ['{\n  "a": 1,\n}', 3, 1, 'expected a key in double quotes, found "}"'],
  ["{'a': 1}", 1, 2, `expected a key in double quotes, found "'"`],
  ['{"a" 1}', 1, 6, 'expected ":", found "1"'],
  ['{"a": 1 "b": 2}', 1, 9, 'expected "," or "}", found """'],
  ["[1, 2", 1, 6, 'expected "," or "]", found the end of the file'],
  ["[1, 2,]", 1, 7, 'expected a value, found "]"'],
  ["", 1, 1, "expected a value, found the end of the file"],
  ['{"a": 1} {', 1, 10, 'expected the end of the file, found "{"'],
  ['{"a": "\n"}', 1, 7, "the text in quotes does not end in its line"],
  ['{"a": "C:\\dir"}', 1, 7, "the text in quotes has an invalid escape: write a backslash as \\\\"],
  ['{"\\u12": 1}', 1, 2, "\\u needs four hexadecimal digits after it"],
  [
    '["\u0001"]',
    1,
    2,
    "the text in quotes has a control character: write it as an escape, such as \\t",
  ],
  ["[1.]", 1, 2, "the number ends without a digit"],
  ['{"a": nope}', 1, 7, 'expected a value, found "n"'],
])("%j is wrong at %i:%i", (source, line, column, text) => {
  expect(parseJson(source)).toEqual({ ok: false, mistake: { line, column, text } });
});

test("JSON is read with or without a byte order mark", () => {
  expect(parseJson('\ufeff{"a": [1, {"b": null}]}')).toEqual({
    ok: true,
    value: { a: [1, { b: null }] },
  });
});

test("comments and trailing commas are fine where tsconfig.json may have them, and text stays", () => {
  const source = '{ // one\n "a": "/* not // a comment */,}", /* two */ "b": [1, 2,], }';
  expect(parseJsonc(source)).toEqual({ a: "/* not // a comment */,}", b: [1, 2] });
  expect(parseJsonc('{ "a": 1 ')).toBeUndefined();
});

test("hostile JSON has one mistake, at any depth and length", () => {
  const deep = "[".repeat(1_000_000);
  expect(parseJson(deep)).toMatchObject({ ok: false, mistake: { text: "it is nested too deep" } });
  expect(parseJsonc(deep)).toBeUndefined();
  expect(parseJson("}".repeat(8_000_000))).toMatchObject({ mistake: { line: 1, column: 1 } });
});
