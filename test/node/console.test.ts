import { readFile } from "node:fs/promises";
import { v7 } from "uuid";
import { beforeAll, describe, expect, test } from "vitest";
import {
  type ConsoleSizes,
  readConsoleSizes,
  sizeProblems,
} from "../../scripts/build/console-sizes.ts";
import { buildMainModules } from "../../scripts/build/steps.ts";
import { questionOf } from "../../src/console/runs/question.ts";
import {
  formatBytes,
  formatCost,
  formatDuration,
  formatPercent,
  formatShortNumber,
  formatTime,
  shortId,
} from "../../src/console/ui/formats.ts";

let sizes: ConsoleSizes;
beforeAll(async () => {
  await buildMainModules();
  sizes = await readConsoleSizes();
});

test("short ids of one moment differ", () => {
  const msecs = Date.now();
  const ids = Array.from({ length: 100 }, () => shortId(v7({ msecs })));
  expect(new Set(ids).size).toBe(100);
});

describe("the console's files", () => {
  test("begin with the entry, whatever the names of the pages are", async () => {
    const html = await readFile("dist/assets/console/index.html", "utf8");
    expect(html).toContain(sizes.entry);
  });

  test("are small before the first page, and for each page beyond that", () => {
    expect(Object.keys(sizes.pages).length).toBeGreaterThan(4);
    expect(sizeProblems(sizes)).toEqual([]);
    const pages = { ...sizes.pages, threads: 40_001, playground: 140_000 };
    expect(sizeProblems({ ...sizes, initial: 125_001, styles: 15_001, pages })).toEqual([
      "125001 bytes before the first page, gzipped: at most 125000",
      "15001 bytes of styles, gzipped: at most 15000",
      "40001 bytes of the page threads, gzipped: at most 40000",
    ]);
  });
});

test("the dark colours by the system and by the switch are the same", async () => {
  const css = await readFile("src/console/styles/tokens.css", "utf8");
  const blockAfter = (start: string) => {
    const from = css.indexOf(start) + start.length;
    return css.slice(from, css.indexOf("}", from)).replace(/\s+/g, " ");
  };
  const bySystem = blockAfter(':root:not([data-theme="light"]) {');
  expect(bySystem).toContain("--bg:");
  expect(blockAfter(':root[data-theme="dark"] {')).toBe(bySystem);
});

describe("values are shown", () => {
  test.each([
    [3, "3 ms"],
    [999.9, "999 ms"],
    [44_190, "44.1 s"],
    [59_999, "59.9 s"],
    [112_000, "1 min 52 s"],
    [8_040_000, "2 h 14 min"],
    [273_600_000, "3 d 4 h"],
    [Number.NaN, ""],
  ])("a duration of %d ms as %s", (ms, text) => expect(formatDuration(ms)).toBe(text));

  test.each([
    [78, "78 B"],
    [214_999, "214 KB"],
    [4_190_000, "4.1 MB"],
  ])("%d bytes as %s", (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  test.each([
    [0, "$0"],
    [0.0061, "$0.0061"],
    [0.00001, "< $0.0001"],
    [25.519, "$25.51"],
  ])("%d dollars as %s", (dollars, text) => expect(formatCost(dollars)).toBe(text));

  test.each([
    [0, "0%"],
    [0.0042, "0.42%"],
    [0.000001, "0.01%"],
    [0.031, "3.1%"],
    [0.38, "38%"],
  ])("a part of %d as %s", (part, text) => expect(formatPercent(part)).toBe(text));

  test.each([
    [9412, "9,412"],
    [149_900, "149 k"],
    [2_190_000, "2.1 M"],
  ])("%d on an axis as %s", (value, text) => expect(formatShortNumber(value)).toBe(text));

  test.each([
    ["2026-11-22T08:46:12.123Z", "08:46:12"],
    ["2026-11-20T08:46:12Z", "20 Nov, 08:46"],
    ["2025-11-20T08:46:12Z", "20 Nov 2025"],
    ["no time", "no time"],
  ])("the time %s as %s", (iso, text) => {
    expect(formatTime(iso, new Date("2026-11-22T12:00:00Z"))).toBe(text);
  });
});

test.each([
  [
    "a tool call",
    { t: [{ value: { action_requests: [{ name: "refund_order" }] } }] },
    "refund_order",
  ],
  [
    "a tool call and its description",
    {
      t: [
        {
          value: {
            action_requests: [{ name: "refund_order", args: { order: "1042", amount: 19.9 } }],
            description: "May the agent do this?",
          },
        },
      ],
    },
    "refund_order: order 1042, amount 19.9",
  ],
  ["a text", { t: [{ value: "Which market?" }] }, "Which market?"],
  ["a question", { t: [{ value: { question: "Go?" } }] }, "Go?"],
  ["any other value", { t: [{ value: { a: 1 } }] }, '{"a":1}'],
  ["no value", {}, "Waits before a node"],
  ["null", null, "Waits before a node"],
])("an interrupt with %s is one line", (_, interrupts, text) => {
  expect(questionOf(interrupts)).toBe(text);
});
