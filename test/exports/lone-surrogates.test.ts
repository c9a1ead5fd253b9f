import fc from "fast-check";
import { expect, test } from "vitest";
import { replaceLoneSurrogates } from "../../src/exports/parquet/lone-surrogates.ts";

function replaced(text: string): string {
  const bytes = new TextEncoder().encode(text);
  replaceLoneSurrogates(bytes);
  return new TextDecoder().decode(bytes);
}

test.each([
  [String.raw`{"q":"a \ud83e"}`, String.raw`{"q":"a \ufffd"}`],
  [String.raw`{"q":"\udd14 b"}`, String.raw`{"q":"\ufffd b"}`],
  [String.raw`{"q":"\uD83E\uDD14"}`, String.raw`{"q":"\uD83E\uDD14"}`],
  [String.raw`{"q":"\ud83e\ud83e\udd14"}`, String.raw`{"q":"\ufffd\ud83e\udd14"}`],
  [String.raw`{"q":"\ud83e\udd14\udd14"}`, String.raw`{"q":"\ud83e\udd14\ufffd"}`],
  [String.raw`{"q":"C:\\ud83e"}`, String.raw`{"q":"C:\\ud83e"}`],
  [String.raw`{"q":"\\\ud83e"}`, String.raw`{"q":"\\\ufffd"}`],
  [String.raw`{"q":"\\ud83e\udd14"}`, String.raw`{"q":"\\ud83e\ufffd"}`],
])("%s is written as %s", (text, expected) => {
  expect(replaced(text)).toBe(expected);
});

test("any JSON keeps its value, but for halves of pairs", () => {
  const text = fc.string({ unit: "binary", maxLength: 8 });
  const half = fc.integer({ min: 0xd800, max: 0xdfff }).map((code) => String.fromCharCode(code));
  fc.assert(
    fc.property(fc.array(fc.oneof(text, half)), (parts) => {
      const value = { q: parts.join(""), parts };
      const expected = {
        q: value.q.toWellFormed(),
        parts: parts.map((part) => part.toWellFormed()),
      };
      expect(JSON.parse(replaced(JSON.stringify(value)))).toEqual(expected);
    }),
  );
});
