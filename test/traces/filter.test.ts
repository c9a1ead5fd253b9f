import { describe, expect, test } from "vitest";
import { AppError } from "../../src/shared/errors.ts";
import { readLikePattern, toLikeTest } from "../../src/traces/filter/like-pattern.ts";
import { parseFilter, readFilter } from "../../src/traces/filter/parse.ts";
import { api, workspace } from "../support/workspace.ts";
import { finderOf } from "./filter-finding.ts";
import { OTHERS, PROJECT, PUBLISHED, RUNS } from "./filter-truth.ts";

const findBothWays = finderOf(RUNS);

async function find(filter: string): Promise<string[]> {
  const { all, named } = findBothWays(filter, PROJECT);
  expect(named).toEqual(all);
  return all;
}

function messageOf(filter: string): string {
  const read = readFilter(filter);
  return read.ok ? "accepted" : read.message;
}

function refusalOf(filter: string): unknown {
  try {
    return parseFilter(filter, "trace_filter");
  } catch (error) {
    return error;
  }
}

function nested(depth: number, open: string, inner = 'eq(name, "step")'): string {
  const opened = open.split("(").length - open.split(")").length;
  return `${open.repeat(depth)}${inner}${")".repeat(depth * opened)}`;
}

describe("a filter finds exactly its runs among sixty", () => {
  test.each(PUBLISHED)("$filter", async ({ filter, ids }) => {
    expect(await find(filter)).toEqual(ids);
  });

  test.each(OTHERS)("$filter", async ({ filter, ids }) => {
    expect(await find(filter)).toEqual(ids);
  });

  test("when a page ends between runs with the same time", async () => {
    const before = `497f6eca-6276-4993-bfeb-53cbbbba6f07`;
    const moment = "2024-06-01 10:00:00.000000";
    const [at, after] = await Promise.all([
      find(`gt(cursor, "${moment}${before}")`),
      find(`gt(cursor, "${moment}")`),
    ]);
    expect(at).toContain("497f6eca-6276-4993-bfeb-53cbbbba6f08");
    expect(after).toEqual(["r02", "r03"]);
  });
});

test.each([
  ["short", "x"],
  ["long", "x".repeat(60)],
])("a %s like pattern that ends inside an escape matches nothing", (_length, text) => {
  const pattern = readLikePattern(`${text}\\`);
  const isLike = pattern && toLikeTest(pattern);
  expect([text, `${text}\\`].map((value) => isLike?.(value))).toEqual([false, false]);
});

describe("a large filter", () => {
  const wide = `like(metadata_value, "${"long ".repeat(10)}%${"text ".repeat(10)}%end")`;
  const last = 'eq(name, "my_tool")';

  test.each([
    ["and", 63, "and(", last, ["r40"]],
    ["or", 63, "or(", last, ["r40"]],
    ["not", 62, "not(", last, ["r40"]],
    ["and with another test", 63, 'and(neq(name, "x"), ', last, ["r40"]],
    ["or with another test", 63, 'or(eq(name, "x"), ', last, ["r40"]],
    ["or and and in turn", 31, 'or(eq(name, "x"), and(neq(name, "y"), ', last, ["r40"]],
    ["and around not", 30, 'and(neq(name, "x"), not(', wide, []],
    ["the deepest test", 62, "not(", wide, []],
    ["pairs at each level", 29, 'and(eq(metadata_key, "k"), neq(metadata_value, "v"), ', last, []],
  ])("may be nested up to the limit: %s", async (_name, depth, open, inner, ids) => {
    const found = await find(nested(depth, open, inner));
    expect(found).toEqual(ids);
  });

  test("may have as many arguments as values", async () => {
    const names = Array.from({ length: 90 }, (_, index) => `eq(name, "n${index}")`);
    names[89] = 'eq(name, "my_tool")';
    expect(await find(`or(${names.join(", ")})`)).toEqual(["r40"]);
    expect(messageOf(`or(eq(name, "one"), ${names.join(", ")})`)).toBe(
      "At character 1: the filter compares with 91 values; the limit is 90, and in(field, [...]) counts as one",
    );
  });

  test("may list many values", async () => {
    const ids = Array.from({ length: 3000 }, (_, index) => `"x${index}"`);
    expect(await find(`in(id, [${ids.join(",")}, "r01"])`)).toEqual(["r01"]);
  });

  test.each([
    [
      "10,000 levels",
      nested(10_000, "and("),
      "At character 257: the filter must be nested at most 64",
    ],
    ["10,000 lists", `in(name, ${"[".repeat(10_000)}`, "the filter must be nested at most 64"],
    [
      "1 MB",
      `eq(name, "${"x".repeat(1024 * 1024)}")`,
      "At character 65537: the filter must have at most 65536 characters",
    ],
    [
      "an open text",
      `eq(name, "${"\\\\".repeat(30_000)}`,
      "At character 10: the string lacks its closing",
    ],
    ["blanks", `eq(${" ".repeat(60_000)}`, "At character 60004: expected an argument"],
    ["an unknown function", "x".repeat(60_000), "At character 1: expected a function"],
    ["a deep object", `has(metadata, '${'{"a":'.repeat(10_000)}')`, "takes a JSON object"],
  ])("is refused with the place and the rule: %s", (_name, filter, message) => {
    expect(messageOf(filter)).toContain(message);
  });
});

describe("an invalid filter", () => {
  test.each([
    ["", 'At character 1: expected a function such as eq(name, "x"), found the end of the filter'],
    ['and(eq(name, "x")', "At character 18: expected , or ), found the end of the filter"],
    ['eq(name, "x"))', "At character 14: expected the end of the filter, found )"],
    ['eq(name, "x") eq(name, "y")', "At character 15: expected the end of the filter, found eq"],
    ['eq(name "x")', 'At character 9: expected , or ), found the string "x"'],
    ['eq(name, "x)', 'At character 10: the string lacks its closing "'],
    ["and()", "At character 5: expected an argument, found )"],
    ["in(name, [])", "At character 11: expected a value, found ]"],
    ["eq(name, x)", 'At character 10: expected a value, found x; write texts in quotes: "x"'],
    ["eq(is_root, True)", "At character 13: expected a value, found True; write texts in"],
    ["name = 'x'", "At character 6: = is unexpected; write texts in quotes"],
    ['"name"', 'At character 1: expected a function such as eq(name, "x"), found "name"'],
    ['equals(name, "x")', "At character 1: equals is not a function; use and, or, not,"],
    ['AND(eq(name, "x"))', "At character 1: AND is not a function"],
    ['and(eq(name, "x"), nlike(name, "y"))', "At character 20: nlike is not a function"],
    ['eq(nam, "x")', "At character 4: nam is not a field; use id, trace_id, session_id"],
    ['eq(toString, "x")', "At character 4: toString is not a field"],
    ['eq(metadata_key("user_id"), "u")', "At character 4: expected the name of a field, found the"],
    ['eq("x")', "At character 1: eq() takes a field and a value, not 1 arguments"],
    ['eq(name, "x", "y")', "At character 1: eq() takes a field and a value, not 3 arguments"],
    ["not(eq(name, 'x'), eq(name, 'y'))", "At character 1: not() takes one filter, not 2"],
    ['gt(tags, "x")', "At character 1: gt() does not support tags; use has, in, like, search"],
    ['gt(name, "x")', "At character 1: gt() does not support name; use eq, neq, in, like"],
    ['has(name, "x")', "At character 1: has() does not support name"],
    ["eq(name, 5)", "At character 10: eq(name, ...) takes a string in quotes, not 5"],
    ["eq(name, null)", "At character 10: eq(name, ...) takes a string in quotes, not null"],
    [
      'eq(is_root, "true")',
      "At character 13: eq(is_root, ...) takes true or false, without quotes",
    ],
    [
      'gt(total_tokens, "5")',
      "At character 18: gt(total_tokens, ...) takes a number without quotes",
    ],
    ["gt(latency, null)", "only eq and neq accept null"],
    ['gt(latency, "soon")', "At character 13: gt(latency, ...) takes a number of seconds, or a"],
    ["gt(start_time, 5)", "At character 16: gt(start_time, ...) takes an ISO 8601 time such as"],
    ['gt(start_time, "2024-13-01T00:00:00Z")', "takes an ISO 8601 time"],
    ['gt(cursor, "x")', "At character 12: cursor takes a time such as"],
    ['in(name, "x")', 'At character 10: in(name, ...) takes a list such as ["a", "b"], not "x"'],
    ['in(name, ["x", 5])', "At character 16: in(name, ...) takes a string in quotes, not 5"],
    ['eq(name, ["x"])', "At character 10: expected one value, found a list"],
    ['has(metadata, "key")', "At character 15: has(metadata, ...) takes a JSON object with values"],
    ["has(metadata, '{}')", "At character 15: has(metadata, ...) takes a JSON object with values"],
    [
      `has(metadata, '{"a": 1, "user": {}}')`,
      "At character 15: has(metadata, ...) takes a JSON object with values",
    ],
    [
      `has(inputs, '{"tags": []}')`,
      "At character 13: has(inputs, ...) takes a JSON object with values",
    ],
    ["eq(total_tokens, 1e999)", "At character 18: 1e999 is out of range"],
    ['search("  ")', "At character 8: search() needs a word"],
    ['search(name, "")', "At character 14: search() needs a string"],
    [`like(name, "%${"x_".repeat(40)}%")`, "At character 12: a pattern over 48 bytes takes no _"],
  ])("%s names the problem and its position", (filter, message) => {
    expect(messageOf(filter)).toContain(message);
  });

  test("is a 422 that names the field of the body", () => {
    const error = refusalOf("eq(name, x)");
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({
      code: "invalid_request",
      status: 422,
      issues: [{ loc: ["body", "trace_filter"], msg: expect.stringContaining("At character 10") }],
    });
  });
});

describe.each(["/api/v1/runs/query/validate", "/runs/query/validate"])("POST %s", (path) => {
  test("validates each filter by its field", async () => {
    const { viewer } = await workspace();
    const right = await api(path, {
      key: viewer,
      json: { session: ["x"], filter: 'eq(name, "a")', trace_filter: null },
    });
    expect(right.status).toBe(200);
    expect(await right.json()).toEqual({ valid: true, errors: [] });
    const wrong = await api(path, {
      key: viewer,
      json: { filter: "eq(name, a)", trace_filter: 'eq(name, "a")', tree_filter: "and(" },
    });
    expect(wrong.status).toBe(200);
    expect(await wrong.json()).toEqual({
      valid: false,
      errors: [
        {
          field: "filter",
          message: 'At character 10: expected a value, found a; write texts in quotes: "a"',
        },
        {
          field: "tree_filter",
          message: "At character 5: expected an argument, found the end of the filter",
        },
      ],
    });
  });

  test("rejects a filter of another type, and callers without a key", async () => {
    const { viewer } = await workspace();
    const wrong = await api(path, { key: viewer, json: { filter: 5 } });
    expect(wrong.status).toBe(422);
    expect(await wrong.json()).toMatchObject({ detail: [{ loc: ["body", "filter"] }] });
    expect((await api(path, { json: {} })).status).toBe(401);
  });
});
