import { expect, test } from "vitest";
import { findWords } from "../../scripts/house/words.ts";

const reasonsOf = (text: string, path = "src/a.ts") =>
  findWords({ path, text }).map(({ line, because }) => `${line}: ${because}`);

test.each([
  [
    "a comment",
    "\n/** What a caller sent. */\nexport type A = {};",
    '2: a comment begins with "What"',
  ],
  [
    "the first line of several",
    "// Of two lines:\n// this is the second.",
    '1: a comment begins with "Of"',
  ],
  ["a later line", "// Runs\n// somebody waits for.", '1: "somebody" in a text'],
  ["a name", "const lastTold = 1;", '1: "told" in a name'],
  ["a column", "type A = { told_at: string };", '1: "told" in a name'],
  ["a private field", "class A { #asked = 1 }", '1: "asked" in a name'],
  ["a type", "type Place = { id: string };", "1: a type is named after a thing"],
  ["an exported type", "export type Wanted = { id: string };", "1: a type is named after a thing"],
  ["a text", 'throw new Error("Say who you are.");', '1: "Say" in a text'],
  ["a template", "const a = `$" + "{id} goes on`;", '1: "goes on" in a text'],
])("%s is found", (_, text, reason) => {
  expect(reasonsOf(text)).toEqual([reason]);
});

test("a test's name is checked and its data is not", () => {
  const text = 'test.each([])("what was asked", () => { post("I was told so"); });';
  expect(reasonsOf(text, "test/a.test.ts")).toEqual(['1: "asked" in a text']);
});

test.each([
  "/** Returns the run; `null` when it does not exist. */",
  "// biome-ignore lint/style/noDefaultExport: workerd requires it",
  'const task = "basket";',
  'const word = "ask";',
  "const a = `the run is no longer kept`;",
])("%s is accepted", (text) => {
  expect(reasonsOf(text)).toEqual([]);
});
