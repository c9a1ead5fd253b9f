import { describe, expect, test } from "vitest";
import { dayOf, timeOfId, toIso, toMicros } from "../../src/shared/times.ts";
import { addDecimals } from "../../src/traces/decimals.ts";
import { digestExtra, firstTokenMicros, toPairs } from "../../src/traces/digest.ts";
import { parseDottedOrder, toDottedOrder } from "../../src/traces/dotted-order.ts";
import { boundaryOf, readParts } from "../../src/traces/ingest/multipart.ts";
import { findUsage } from "../../src/traces/usage.ts";

const ROOT = "01a1c0de-0000-7000-8000-000000000001";
const CHILD = "01a1c0de-0000-7000-8000-000000000002";

test.each([
  ["2026-11-20T18:00:40.545001Z", "2026-11-20T18:00:40.545001Z"],
  ["2026-11-20T18:00:40.545001", "2026-11-20T18:00:40.545001Z"],
  ["2026-11-20 18:00:40+02:00", "2026-11-20T16:00:40.000000Z"],
  ["2026-11-20T18:00:40.5Z", "2026-11-20T18:00:40.500000Z"],
  ["2026-11-20T18:00:40.123456789Z", "2026-11-20T18:00:40.123456Z"],
  [1795197640584, "2026-11-20T18:00:40.584000Z"],
  [1795197640.5, "2026-11-20T18:00:40.500000Z"],
  [1795197640584001, "2026-11-20T18:00:40.584001Z"],
  [-1, "1969-12-31T23:59:59.000000Z"],
])("the time %j is %s", (value, iso) => {
  const micros = toMicros(value);
  expect(micros === null ? null : toIso(micros)).toBe(iso);
});

test.each([
  "",
  "yesterday",
  "2026-13-01T00:00:00Z",
  "2026-11-20",
  "9999-12-31T24:00:00Z",
  "0000-01-01T00:00:00+01:00",
  Number.NaN,
  1e30,
  -62_167_219_201,
])("%j is not a time with a year of four digits", (value) => {
  expect(toMicros(value)).toBeNull();
});

test("an id of version 7 contains its time, others do not", () => {
  const micros = timeOfId("019a9d5c-3b80-7000-8000-000000000000");
  expect(micros === null ? null : dayOf(micros)).toBe("2025-11-19");
  expect(timeOfId("019a9d5c-3b80-4000-8000-000000000000")).toBeNull();
  expect(timeOfId("019a9d5c-3b80-7000-7000-000000000000")).toBeNull();
  expect(timeOfId("ffffffff-ffff-7000-8000-000000000000")).toBeNull();
});

describe("a dotted order", () => {
  const text = `20261120T180040545001Z${ROOT}.20261120T180040545002Z${CHILD}`;

  test("contains the run's lineage and start", () => {
    expect(parseDottedOrder(text)).toEqual({
      trace_id: ROOT,
      run_id: CHILD,
      parent_run_ids: [ROOT],
      start_us: toMicros("2026-11-20T18:00:40.545002Z"),
    });
    const start_us = toMicros("2026-11-20T18:00:40.545001Z") ?? 0;
    expect(toDottedOrder(start_us, ROOT)).toBe(text.split(".")[0]);
  });

  test.each([
    "",
    ".",
    `${text}.`,
    text.replace("T18", "T25"),
    text.slice(1),
    `99991231T240000000000Z${ROOT}`,
  ])("%j is none", (wrong) => expect(parseDottedOrder(wrong)).toBeNull());
});

const message = {
  kwargs: { usage_metadata: { input_tokens: 5, output_tokens: 2, total_tokens: 7 } },
};
const SEVEN = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };

test.each([
  ["usage_metadata", { usage_metadata: { input_tokens: 5, output_tokens: 2 } }, SEVEN],
  [
    "counts that together are more than a double counts",
    { usage_metadata: { input_tokens: 2, output_tokens: Number.MAX_SAFE_INTEGER } },
    { prompt_tokens: 2, completion_tokens: Number.MAX_SAFE_INTEGER, total_tokens: null },
  ],
  ["a message of LangChain", { generations: [[{ message }]] }, SEVEN],
  ["a message as output", { output: message }, SEVEN],
  [
    "llmOutput",
    { llmOutput: { tokenUsage: { promptTokens: 5, completionTokens: 2, totalTokens: 7 } } },
    SEVEN,
  ],
  [
    "llm_output",
    { llm_output: { token_usage: { prompt_tokens: 5, completion_tokens: 2 } } },
    SEVEN,
  ],
  [
    "usage of OpenAI",
    { usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } },
    SEVEN,
  ],
  [
    "two prompts",
    { generations: [[{ message }], [{ message }]] },
    { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 },
  ],
  [
    "costs of many places",
    { usage_metadata: { input_cost: 1.25e-7, output_cost: 0.00003 } },
    { prompt_cost: "0.000000125", completion_cost: "0.00003", total_cost: "0.000030125" },
  ],
  [
    "costs",
    { usage_metadata: { input_tokens: 1, input_cost: 0.0000001, output_cost: "0.2" } },
    { prompt_cost: "0.0000001", completion_cost: "0.2", total_cost: "0.2000001" },
  ],
])("tokens and costs are found in %s", (_, outputs, usage) => {
  expect(findUsage(outputs)).toMatchObject(usage);
});

test("values without usage return null", () => {
  for (const outputs of [
    null,
    1,
    "x",
    {},
    { usage: "much" },
    { usage_metadata: { input_tokens: -1 } },
  ]) {
    expect(findUsage(outputs)).toBeNull();
  }
});

test("decimals add up exactly", () => {
  expect(addDecimals("0.1", "0.2")).toBe("0.3");
  expect(addDecimals("123456789012345678.000000001", "1")).toBe("123456789012345679.000000001");
  expect(addDecimals(null, "1.50")).toBe("1.50");
  expect(addDecimals("0.5", "0.5")).toBe("1");
});

describe("a digest", () => {
  test("has dotted paths, and one pair for each element of a list", () => {
    expect(toPairs({ a: { b: [1, "Two", { c: null }] }, d: true })).toEqual([
      ["a.b", "1", 1],
      ["a.b", "Two", null],
      ["a.b.c", "null", null],
      ["d", "true", null],
    ]);
  });

  test("keeps 250 characters of a value and 100 keys", () => {
    const wide = Object.fromEntries(
      Array.from({ length: 150 }, (_, n) => [`k${n}`, "x".repeat(300)]),
    );
    const pairs = toPairs(wide);
    expect([pairs.length, pairs[0]?.[1].length]).toEqual([100, 250]);
  });

  test("of deep data is bounded", () => {
    let deep: unknown = "bottom";
    for (let n = 0; n < 10_000; n++) deep = { a: deep };
    expect(toPairs(deep)).toHaveLength(1);
  });

  test.each([
    [{ session_id: "s", thread_id: "t" }, "s"],
    [{ thread_id: "t" }, "t"],
    [{ conversation_id: 7 }, "7"],
    [{ user: "x" }, null],
  ])("of the metadata %j has the thread %j", (metadata, thread_id) => {
    expect(digestExtra({ metadata }).thread_id).toBe(thread_id);
  });

  test("contains the time of the first token", () => {
    const events = [
      { name: "start", time: 1 },
      { name: "new_token", time: "2026-11-20T18:00:40Z" },
    ];
    expect(firstTokenMicros([...events, { name: "new_token", time: "2027-01-01T00:00:00Z" }])).toBe(
      toMicros("2026-11-20T18:00:40Z"),
    );
    expect(firstTokenMicros([{ name: "end" }])).toBeUndefined();
  });
});

describe("multipart parts", () => {
  const BODY = [
    'preamble\r\n--b\r\nContent-Disposition: form-data; name="a"\r\n',
    "Content-Type: application/json; length=3\r\n\r\n\r\n-\r\n--b\r\n",
    'content-disposition: form-data; name="c\\"d"\r\n\r\n\r\n--b--\r\nand an epilogue that is longer than the boundary',
  ].join("");

  async function* inPieces(text: string, size: number) {
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }

  async function readAll(text: string, size: number) {
    const found = [];
    for await (const { name, content_type, data } of readParts(inPieces(text, size), "b")) {
      found.push([name, content_type, new TextDecoder().decode(data)]);
    }
    return found;
  }

  test.each([1, 2, 3, 5, 7, 1000])("are the same in pieces of %i bytes", async (size) => {
    expect(await readAll(BODY, size)).toEqual([
      ["a", "application/json", "\r\n-"],
      ['c"d', "application/octet-stream", ""],
    ]);
  });

  test.each(["", "--b", "--b\r\n", BODY.slice(0, 120), "no boundary at all"])(
    "of an unfinished body are refused: %j",
    async (text) => {
      await expect(readAll(text, 4)).rejects.toThrow("ends before its closing boundary");
    },
  );

  test.each([
    ['filename="x; name=y"; name="z"', "z"],
    ['filename="x\\"; name=y"; name=z', "z"],
    ['filename="; name="; Name="a;b"', "a;b"],
    ['name="z"; filename="C:\\"', "z"],
    ["xname=y; filename*=UTF-8''x; name=\"z", "z"],
  ])(
    "have the name of the parameter, not one that a quoted text holds: %s",
    async (header, name) => {
      const text = `--b\r\nContent-Disposition: form-data; ${header}\r\n\r\n\r\n--b--`;
      expect(await readAll(text, 9)).toEqual([[name, "application/octet-stream", ""]]);
    },
  );

  test("without a name are rejected", async () => {
    const quoted = 'Content-Disposition: form-data; filename="; name=y"';
    await expect(readAll(`--b\r\n${quoted}\r\n\r\n\r\n--b--`, 9)).rejects.toThrow("no name");
    await expect(readAll("--b\r\nX: y\r\n\r\n\r\n--b--", 9)).rejects.toThrow("no name");
  });

  test.each([
    ["multipart/form-data; boundary=abc", "abc"],
    ['Multipart/Form-Data; charset=x; boundary="a b"', "a b"],
    ['multipart/form-data; charset="; boundary=x"; boundary=abc', "abc"],
    [`multipart/form-data; boundary=${"x".repeat(201)}`, null],
    ["multipart/form-data; boundary=", null],
    ["multipart/form-data", null],
    ["application/json; boundary=abc", null],
  ])("have the boundary of %j", (type, boundary) => {
    expect(boundaryOf(type)).toBe(boundary);
  });
});
