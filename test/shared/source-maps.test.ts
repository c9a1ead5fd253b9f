import { expect, test } from "vitest";
import { mapStacks } from "../../src/shared/source-maps/stacks.ts";

test("the stacks of many lines are mapped in one pass over the map", () => {
  const text = "AAAA;AACA";
  let reads = 0;
  const mappings = {
    length: text.length,
    charCodeAt(at: number) {
      reads += 1;
      return text.charCodeAt(at);
    },
  } as unknown as string;
  const map = { sources: ["a.ts"], sourcesContent: ["one\ntwo"], mappings };
  const lines = ["at main.js:2:1", "no frame", "at main.js:1:1, main.js:999:1"];
  expect(mapStacks(map, lines)).toEqual([
    "at a.ts:2:1\n\na.ts:2:1\n    two\n    ^",
    "no frame",
    "at a.ts:1:1, main.js:999:1\n\na.ts:1:1\n    one\n    ^",
  ]);
  expect(reads).toBe(text.length);
});
