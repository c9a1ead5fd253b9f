import { describe, expect, test } from "vitest";
import { showText } from "../../src/console/ui/formats.ts";
import { CHUNK, linesOf, listRows, openAtFirst } from "../../src/console/ui/json-view/rows.ts";
import { findMatches, openTo, rowOfMatch } from "../../src/console/ui/json-view/search.ts";

const kindsOf = (value: unknown, opened = openAtFirst(value)) =>
  listRows(value, opened).map(({ kind, depth, name }) => `${depth} ${kind} ${name ?? ""}`.trim());

describe("rows of a value", () => {
  test("open level by level, with the end of each node", () => {
    expect(kindsOf({ a: [1, {}], b: null })).toEqual([
      "0 open",
      "1 open a",
      "2 leaf",
      "2 leaf",
      "1 end a",
      "1 leaf b",
      "0 end",
    ]);
  });

  test("stay few at first, however large the value is", () => {
    const value = Array.from({ length: 200_000 }, (_, id) => ({ id, deep: { list: [id] } }));
    const rows = listRows(value, openAtFirst(value));
    expect(rows.length).toBeLessThan(CHUNK + 10);
    expect(rows.at(-2)).toMatchObject({ kind: "more", from: CHUNK, to: 200_000 });
  });

  test("of a value nested 50,000 deep are listed without recursion", () => {
    let value: unknown = 1;
    for (let depth = 0; depth < 50_000; depth += 1) value = [value];
    const all = new Map(Array.from({ length: 2000 }, (_, n) => [`r${"/0".repeat(n)}`, 1]));
    expect(listRows(value, all).length).toBeGreaterThan(3999);
  });

  test("of a text are its lines, cut at a width but at no surrogate pair", () => {
    const text = `first\n\n${"😀".repeat(200)}\nlast`;
    const lines = [...linesOf(text)].map(({ from, to }) => text.slice(from, to));
    expect(lines.slice(0, 2)).toEqual(["first", ""]);
    expect(lines.slice(2, -1).join("")).toBe("😀".repeat(200));
    expect(lines.every((line) => line.isWellFormed())).toBe(true);
    expect(lines.at(-1)).toBe("last");
  });

  test("name what is not shown of a long text", () => {
    const text = "line\n".repeat(3000);
    expect(listRows(text, openAtFirst(text)).at(-1)).toMatchObject({
      kind: "more",
      from: CHUNK * 5,
      to: text.length,
    });
  });
});

describe("a search in a value", () => {
  const value = {
    list: Array.from({ length: 5000 }, (_, n) => `item ${n}`),
    long: `${"x".repeat(200_000)}needle`,
    "needle name": 1,
  };

  test("finds names and values of closed nodes", () => {
    expect(findMatches(value, "ITEM 4999")).toEqual([{ id: "r/0/4999", offset: 0 }]);
    expect(findMatches(value, "needle").map(({ id }) => id)).toEqual(["r/1", "r/2"]);
    expect(findMatches(value, "")).toEqual([]);
  });

  test.each(["item 4999", "needle"])("opens what hides %s", (text) => {
    const [match] = findMatches(value, text);
    if (match === undefined) throw new Error("nothing was found");
    const rows = listRows(value, openTo(value, new Map(), match));
    const row = rows[rowOfMatch(rows, match)];
    const shown = row?.kind === "text" ? String(row.value).slice(row.from, row.to) : row?.value;
    expect(shown).toContain(text);
  });
});

test("controls and marks of direction are shown as escapes, emoji and Arabic as they are", () => {
  expect(showText("a\u0000b\u202Ec\u2066d\uFEFF")).toBe("a\\u{0}b\\u{202e}c\\u{2066}d\\u{feff}");
  expect(showText("\u{1F468}\u200D\u{1F469} \u0633\u0644\u0627\u0645\t")).toBe(
    "\u{1F468}\u200D\u{1F469} \u0633\u0644\u0627\u0645\t",
  );
});
