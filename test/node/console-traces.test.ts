import { describe, expect, test } from "vitest";
import { ApiError } from "../../src/console/api/errors.ts";
import { alignSpans } from "../../src/console/pages/compare/align.ts";
import { CHARTS, filterOf, stack, toPlotted } from "../../src/console/pages/monitor/charts.ts";
import { toRevisionMarks } from "../../src/console/pages/monitor/revision-marks.ts";
import { goalOf } from "../../src/console/pages/trace/model/goal.ts";
import { deepestFailure, listRows, slowestPath } from "../../src/console/pages/trace/model/rows.ts";
import {
  findGaps,
  scaleOf,
  ticksOf,
  toTime,
  toX,
} from "../../src/console/pages/trace/model/scale.ts";
import {
  countText,
  mergeChanges,
  toStoppedPage,
} from "../../src/console/pages/traces/list/trace-row.ts";
import { completionsAt } from "../../src/console/traces/completion.ts";
import { choiceText, readRange, wordSearch } from "../../src/console/traces/custom-range.ts";
import { addCondition, meantFilter } from "../../src/console/traces/filter-edit.ts";
import { readError } from "../../src/console/traces/filter-error.ts";
import { FUNCTIONS as FUNCTION_HELP, FIELDS as HELP } from "../../src/console/traces/language.ts";
import { groupProjects } from "../../src/console/traces/project-groups.ts";
import { tracesSearch } from "../../src/console/traces/search.ts";
import { choiceOf, strideOf, toStride, windowOf } from "../../src/console/traces/time-range.ts";
import { buildTree, toMs } from "../../src/console/traces/tree.ts";
import { axisOf } from "../../src/console/ui/chart/axis.ts";
import { findMessages, toConversation } from "../../src/console/ui/conversation/model.ts";
import { FIELD_NAMES, FUNCTIONS, findField } from "../../src/traces/filter/fields.ts";
import { readFilter } from "../../src/traces/filter/parse.ts";
import type { TraceSpan } from "../../src/traces/live/trace-schema.ts";
import { manySpans, type SpanSeed, toWireSpans } from "../support/node/trace-spans.ts";

const START = new Date("2026-11-20T08:00:00Z");

function treeOf(seeds: SpanSeed[], now = START.getTime()) {
  const spans = toWireSpans("p", START, seeds).map((wire) => ({
    parent_run_id: null,
    end_time: null,
    error: null,
    tags: [],
    ...wire,
    status: wire.error ? "ERROR" : wire.end_time ? "SUCCESS" : "PENDING",
  })) as unknown as TraceSpan[];
  return buildTree(spans, now);
}

const FAILED: SpanSeed[] = [
  { name: "root", start: 0, end: 100, more: { error: "e" } },
  { name: "fast", parent: 0, start: 0, end: 10 },
  { name: "slow", parent: 0, start: 10, end: 100, more: { error: "e" } },
  { name: "leaf", parent: 2, start: 10, end: 30 },
  { name: "worst", parent: 2, start: 60, end: 100, more: { error: "e" } },
];
const ALL = { mode: "all", search: "", closed: new Set<string>() } as const;

describe("a search that was refused", () => {
  const failure = (status: number, message: string) =>
    new ApiError("/api/v1/runs/query", new Response(null, { status }), { message, problems: {} });

  test.each([
    ["its limit: narrow its filter, or continue it with the cursor abc_-9", "narrow its filter."],
    [
      "select fewer of inputs. To continue with the runs after it, send the cursor abc_-9",
      "inputs.",
    ],
  ])("continues with its cursor: %s", (message, end) => {
    const { stopped, ...page } = toStoppedPage(failure(413, message));
    expect(page).toEqual({ runs: [], cursors: { next: "abc_-9", prev: null } });
    expect(stopped?.endsWith(end)).toBe(true);
    expect(() => toStoppedPage(failure(422, message))).toThrow(message);
  });

  test("names what is shown beside why it stopped", () => {
    const text = (count: number, stopped?: string) =>
      countText(count, "run", { hasMore: true, stopped });
    expect(text(0, "No run up to noon.")).toBe("No run up to noon.");
    expect(text(50, "No run up to noon.")).toBe("50 runs shown. No run up to noon.");
    expect(text(50)).toBe("50 runs shown, and there are more");
  });

  test("fails without a cursor", () => {
    expect(() => toStoppedPage(failure(413, "too large"))).toThrow("too large");
  });
});

describe("the tree of a trace", () => {
  const tree = treeOf(FAILED);
  const namesOf = (rows: Iterable<number>) => [...rows].map((row) => tree.spans[row]?.name);
  const idOf = (name: string) => tree.spans.find((span) => span.name === name)?.id ?? "";

  test("counts what is below each span, and marks what leads to a failure", () => {
    expect(tree.size).toEqual([5, 1, 3, 1, 1]);
    expect(tree.depth).toEqual([0, 1, 1, 2, 2]);
    expect(tree.failed).toEqual([true, false, true, false, true]);
    expect(deepestFailure(tree)).toBe(4);
    expect(deepestFailure(treeOf(FAILED.slice(1, 2)))).toBeNull();
  });

  test.each([
    ["closed spans", { ...ALL, closed: new Set([idOf("slow")]) }, ["root", "fast", "slow"]],
    ["errors only", { ...ALL, mode: "errors" as const }, ["root", "slow", "worst"]],
    ["the slowest path", { ...ALL, mode: "slow" as const }, ["root", "slow", "worst"]],
    ["a search", { ...ALL, search: "leaf" }, ["root", "slow", "leaf"]],
    ["a search of nothing", { ...ALL, search: "zzz" }, []],
  ])("lists the rows of %s", (_, filter, names) => {
    expect(namesOf(listRows(tree, filter))).toEqual(names);
  });

  test("moves by arrow keys among the spans that are shown alone", () => {
    const filter = { ...ALL, search: "s" };
    const shown = listRows(tree, filter);
    expect(namesOf(shown)).toEqual(["root", "fast", "slow", "worst"]);
    const move = (name: string, key: string, rows = shown) => {
      const position = namesOf(rows).indexOf(name);
      const { select, toggle } = goalOf({ tree, rows, closed: filter.closed, position }, key) ?? {};
      return tree.spans[select ?? toggle ?? -1]?.name ?? null;
    };
    expect(move("root", "ArrowRight")).toBe("fast");
    expect(move("slow", "ArrowRight")).toBe("worst");
    expect(move("worst", "ArrowLeft")).toBe("slow");
    const roots = listRows(tree, { ...ALL, search: "fast" });
    expect(move("fast", "ArrowRight", roots)).toBeNull();
    for (const key of ["ArrowLeft", "ArrowRight"]) expect(move("leaf", key)).toBeNull();
    expect(move("leaf", "ArrowDown")).toBe("root");
  });

  test("does not go from a span whose children are hidden to one beside it", () => {
    const forest = treeOf([
      { name: "first week", start: 0, end: 10 },
      { name: "day", parent: 0, start: 0, end: 10 },
      { name: "week", start: 10, end: 20 },
    ]);
    const rows = listRows(forest, { ...ALL, search: "week" });
    const at = (position: number) => ({ tree: forest, rows, closed: ALL.closed, position });
    expect(rows).toEqual([0, 2]);
    expect(goalOf(at(0), "ArrowRight")).toEqual({ select: undefined });
    expect(goalOf(at(0), "ArrowLeft")).toEqual({});
    expect(goalOf(at(-1), "ArrowLeft")).toEqual({});
  });

  test("takes 10,000 spans, in any order, with a parent that is not there", () => {
    const seeds = manySpans(10_000);
    const { spans } = treeOf(seeds);
    const mixed = buildTree([...spans].reverse().slice(0, -1), 0);
    expect(mixed.spans.length).toBe(9999);
    expect(mixed.parent.filter((above) => above < 0).length).toBe(1000);
    expect(slowestPath(treeOf(seeds)).size).toBe(3);
  });

  test("lists spans that are below each other in a circle, and what is below them", () => {
    const [first, second, third] = treeOf(FAILED.slice(0, 3)).spans;
    if (!first || !second || !third) throw new Error("no spans");
    const circle = [
      { ...first, parent_run_id: second.id },
      { ...second, parent_run_id: first.id },
      { ...third, parent_run_id: second.id },
    ];
    const { spans, parent, size } = buildTree(circle, 0);
    expect(spans.map(({ id }) => id)).toEqual([first.id, second.id, third.id]);
    expect([parent, size]).toEqual([
      [-1, 0, 1],
      [3, 2, 1],
    ]);
  });

  test("survives a span that is its own parent, and microseconds", () => {
    const [span] = treeOf(FAILED.slice(0, 1)).spans;
    if (span === undefined) throw new Error("no span");
    expect(buildTree([{ ...span, parent_run_id: span.id }], 0).parent).toEqual([-1]);
    expect(toMs("2026-11-20T08:00:00.000250Z") - toMs("2026-11-20T08:00:00Z")).toBeCloseTo(0.25);
  });
});

describe("two traces as one", () => {
  const shapeOf = (a: SpanSeed[], b: SpanSeed[]) =>
    alignSpans({ tree: treeOf(a), index: 0 }, { tree: treeOf(b), index: 0 }).map(
      ({ depth, a: first, b: second }) => `${depth} ${first?.name ?? "-"} ${second?.name ?? "-"}`,
    );
  const root = { name: "root", start: 0, end: 100 };
  const child = (name: string, start: number, parent = 0) => ({
    ...{ name, parent, start, end: start + 1 },
  });

  test("pairs spans by their names in order, and keeps what one has alone in its place", () => {
    const first = [root, child("plan", 1), child("search", 2), child("search", 3), child("x", 4)];
    const second = [root, child("plan", 1), child("check", 2), child("search", 3)];
    expect(shapeOf(first, second)).toEqual([
      "0 root root",
      "1 plan plan",
      "1 - check",
      "1 search search",
      "1 search -",
      "1 x -",
    ]);
  });

  test("shows all that is below a span of one alone", () => {
    const more = [root, child("plan", 1), child("ask", 2, 1), child("answer", 3, 2)];
    expect(shapeOf([root], more)).toEqual([
      ...["0 root root", "1 - plan", "2 - ask", "3 - answer"],
    ]);
    expect(shapeOf(more, more)).toEqual([
      ...["0 root root", "1 plan plan", "2 ask ask", "3 answer answer"],
    ]);
  });
});

describe("the time axis of a trace", () => {
  const waiting = (ms: number) =>
    treeOf([
      { name: "root", start: 0, end: 10 * ms },
      { name: "ask", parent: 0, start: 0, end: ms },
      { name: "answer", parent: 0, start: 9 * ms, end: 10 * ms },
    ]);
  const waits = waiting(1000);

  test("folds the time in which nothing ran, and keeps the order of all else", () => {
    expect(findGaps(waits)).toEqual([{ from: 1000, to: 9000 }]);
    const scale = scaleOf(waits, true);
    const places = [0, 500, 1000, 9000, 9500, 10_000].map((ms) => toX(scale, ms));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(toX(scale, 9000) - toX(scale, 1000)).toBeCloseTo(0.07);
    expect(toX(scaleOf(waits, false), 5000)).toBeCloseTo(0.5);
  });

  test("folds no wait of less than a second", () => {
    expect(findGaps(waiting(100))).toEqual([]);
  });

  test("draws a part of the time over the whole width, and each place is a time", () => {
    for (const isFolded of [true, false]) {
      const scale = scaleOf(waits, isFolded, { from: 500, to: 9500 });
      expect([0, 500, 9500, 10_000].map((ms) => toX(scale, ms))).toEqual([0, 0, 1, 1]);
      for (const ms of [500, 800, 5000, 9200, 9500]) {
        expect(toTime(scale, toX(scale, ms))).toBeCloseTo(ms);
      }
      expect(ticksOf(scale, waits.total_ms)[0]).toEqual({ ms: 500, x: 0 });
    }
    expect(toX(scaleOf(waits, true, { from: 20_000, to: 30_000 }), 0)).toBe(0);
  });

  test.each([0.001, 1, 750, 60_000, 3_600_000, 400 * 86_400_000])(
    "has a few ticks for %d ms",
    (end) => {
      const tree = treeOf([{ name: "root", start: 0, end }]);
      const ticks = ticksOf(scaleOf(tree, true), tree.total_ms);
      expect(ticks.length).toBeGreaterThan(0);
      expect(ticks.length).toBeLessThan(12);
    },
  );
});

describe("the filter language", () => {
  test("has the fields and functions of the service", () => {
    expect(Object.keys(HELP).sort()).toEqual([...FIELD_NAMES].sort());
    expect(Object.keys(FUNCTION_HELP).sort()).toEqual([...FUNCTIONS].sort());
    for (const [name, { functions }] of Object.entries(HELP)) {
      expect([name, [...functions].sort()]).toEqual([
        name,
        [...(findField(name)?.functions ?? [])].sort(),
      ]);
    }
  });

  test.each([
    ["", "eq("],
    ["and(eq(name, 1), g", "gt("],
    ["eq(sta", "status, "],
    ["gt(lat", "latency, "],
    ["eq(status, ", '"error")'],
    ['eq(status, "er', '"error")'],
    ["in(run_type, [", '"llm"'],
    ['eq(name, "res', '"research")'],
  ])("completes %s with %s", (text, insert) => {
    const { options } = completionsAt(text, text.length, { name: ['"research"'] });
    expect(options.map((option) => option.insert)).toContain(insert);
  });

  test("offers a field for the functions that it has, and nothing in a text", () => {
    const fields = completionsAt("gt(", 3).options.map(({ label }) => label);
    expect(fields).not.toContain("name");
    expect(completionsAt('search("late', 12).options).toEqual([]);
    expect(completionsAt('gt(latncy, "20s")', 17).options).toEqual([]);
  });

  test.each([
    ['gt(latncy, "20s")', 3, "latency"],
    ["eqq(name, 1)", 0, "eq"],
    ["eq(zzzzzzzz, 1)", 3, null],
    ["eq(name", 7, null],
  ])("the service's error in %s is at character %d, and %s is close", (filter, offset, fix) => {
    const read = readFilter(filter);
    const error = readError(read.ok ? "" : read.message, filter);
    expect(error).toMatchObject({ offset, fix });
    expect(error.text.length).toBeLessThan(120);
  });

  test.each([
    ["", "a(1)", "a(1)"],
    ["a(1)", "b(2)", "and(a(1), b(2))"],
    ["and(a(1), c(3))", "b(2)", "and(a(1), c(3), b(2))"],
    ["and(a(1), and(c(3)))", "c(3)", "and(a(1), and(c(3)))"],
    ["not(c(3))", "c(3)", "and(not(c(3)), c(3))"],
    ["or(a(1), c(3))", "c(3)", "and(or(a(1), c(3)), c(3))"],
    ["and(in(a, [1, 2]), and(x(1),c(3) ), b(2))", "c(3)", null],
    ["and(a(1), b(2))", "b(2)", null],
    ["and(a(1), not(b(2)))", "b(2)", "and(a(1), not(b(2)), b(2))"],
    ['search("c(3)")', "c(3)", 'and(search("c(3)"), c(3))'],
    ['eq(name, "and(")', "b(2)", 'and(eq(name, "and("), b(2))'],
  ])("%s and %s are %s", (filter, condition, both) => {
    expect(addCondition(filter, condition)).toBe(both ?? filter);
  });

  test.each([
    ["quota exceeded ", 'search("quota exceeded")'],
    ["a\\b", 'search("a\\\\b")'],
    ["exi", "exi"],
    [' eq(name, "a")', 'eq(name, "a")'],
    ["", ""],
  ])("the text %j of the field means %j", (text, filter) => {
    expect(meantFilter(text)).toBe(filter);
    expect(readFilter(filter).ok).toBe(text.includes(" ") || text.includes("\\"));
  });

  test.each(["name", "revision", "tag", "metadata"] as const)(
    "the runs of a group by %s are found by a valid filter",
    (group) => {
      expect(readFilter(filterOf(group, "user", 'a "b"')).ok).toBe(true);
    },
  );
});

describe("times and axes", () => {
  test.each([60, 3600, 10_800, 86_400, 30 * 86_400, 365 * 86_400])(
    "%d s have at most 75 buckets, of a stride that the service takes",
    (seconds) => {
      const stride = strideOf(seconds);
      expect(seconds / stride).toBeLessThanOrEqual(75);
      expect(toStride(stride).value).toBeLessThanOrEqual(10_000);
    },
  );

  test("a range begins at its exact time, and an earlier choice replaces it", () => {
    const now = START.getTime() + 1234;
    const hour = { start: "2026-11-20T07:00:01.234Z", stride_s: 60, isChosen: false };
    expect(windowOf("1h", now)).toEqual(hour);
    const [within, to] = ["2026-11-20T07:30:00.000Z", "2026-11-20T07:40:00.000Z"];
    expect(windowOf("1h", now, { from: within, to })).toEqual(hour);
    const [start, end] = ["2026-11-18T00:00:00.000Z", "2026-11-18T01:00:00.000Z"];
    const chosen = { start, end, stride_s: 60, isChosen: true };
    expect(windowOf("1h", now, { from: start, to: end })).toEqual(chosen);
    const inFirstBucket = "2026-11-20T07:00:00.000Z";
    expect(windowOf("1h", now, { from: inFirstBucket, to })).toEqual({
      ...hour,
      start: inFirstBucket,
    });
  });

  test("a part of a window keeps the bounds of the window", () => {
    const [start, end] = ["2026-11-18T00:00:00.000Z", "2026-11-18T01:00:00.000Z"];
    const window = { start, end, stride_s: 60, isChosen: true };
    const all = { from: Date.parse(start), to: Date.parse(end) + 60_000 };
    expect(choiceOf(all, window, all.to)).toEqual({ from: start, to: end });
    const live = { start, stride_s: 60, isChosen: false };
    expect(choiceOf(all, live, all.to)).toEqual({});
    const from = Date.parse("2026-11-18T00:30:00Z");
    expect(choiceOf({ ...all, from }, live, all.to)).toEqual({ from: "2026-11-18T00:30:00.000Z" });
    const half = { from: all.from, to: from };
    expect(choiceOf(half, live, all.to)).toEqual({ from: start, to: "2026-11-18T00:30:00.000Z" });
  });

  test.each([
    ["", "", { problems: { from: "From must be a date and a time" } }],
    ["2026-11-20T07:00", "soon", { problems: { to: expect.stringMatching(/^To must be/) } }],
    ["2026-11-20T09:00", "", { problems: { from: "From must be before now" } }],
    ["2026-11-20T07:00", "2026-11-20T06:00", { problems: { to: "To must be after From" } }],
    ["2026-11-20T07:00", "", { range: { from: "2026-11-20T07:00:00.000Z", to: undefined } }],
  ])("the range from %j to %j is read, or its wrong field is named", (from, to, read) => {
    expect(readRange({ from, to }, START.getTime())).toEqual(read);
  });

  test("a range whose end is before its start is left out of an address", () => {
    const [from, to] = ["2026-11-20T08:00:00Z", "2026-11-20T07:00:00Z"];
    expect(tracesSearch({ from, to })).not.toHaveProperty("from");
    expect(tracesSearch({ from: to, to: from })).toMatchObject({ from: to, to: from });
    const now = new Date("2026-11-21T08:00:00Z");
    expect(choiceText({ from: to }, now)).toBe("20 Nov, 07:00 to now");
    expect(choiceText({ to: from }, now)).toBe("Until 20 Nov, 08:00");
  });

  test.each([
    [7, [0, 4, 8]],
    [0.83, [0, 0.5, 1]],
    [0, [0]],
  ])("an axis up to %d has round ticks", (largest, ticks) => {
    expect(axisOf(largest, 2).ticks.map((tick) => Number(tick.toFixed(6)))).toEqual(ticks);
  });
});

test("projects without a deployment are the last group of a choice, if there are others", () => {
  const projects = ["deleted", "chat", "sdk"].map((name) => ({ id: name, name }));
  const groups = groupProjects(projects, [{ tracing_project_id: "chat" }]);
  expect(groups?.map(({ label, projects: all }) => [label, all.map(({ id }) => id)])).toEqual([
    ["Deployments", ["chat"]],
    ["Without a deployment", ["deleted", "sdk"]],
  ]);
  expect(groupProjects(projects, [])).toBeNull();
  const many = Array.from({ length: 100 }, () => ({ tracing_project_id: "chat" }));
  expect(groupProjects(projects, many)).toBeNull();
});

test("changes replace the rows they are about, and new runs are counted", () => {
  const row = (id: string, status: string) => ({ id, status }) as never;
  const changed = new Map([
    ["a", row("a", "success")],
    ["z", row("z", "pending")],
  ]);
  const { rows, newCount } = mergeChanges([row("a", "pending"), row("b", "error")], changed);
  expect(rows.map(({ id, status }) => [id, status])).toEqual([
    ["a", "success"],
    ["b", "error"],
  ]);
  expect(newCount).toBe(1);
});

test("a list that was read again is newer than a change before the end of a run", () => {
  const row = (end_time: string | null) => ({ id: "a", end_time }) as never;
  const end = "2026-11-20T08:01:00Z";
  expect(mergeChanges([row(end)], new Map([["a", row(null)]])).rows).toEqual([row(end)]);
  expect(mergeChanges([row(null)], new Map([["a", row(end)]])).rows).toEqual([row(end)]);
});

test("a chart has a value for each bucket, 0 or none where the answer has no runs", () => {
  const figures = { run_count: 60, error_rate: 0.5 };
  const series = (group: string) => ({
    group,
    is_rest: false,
    totals: figures,
    buckets: [{ ...figures, start_time: "2026-11-20T08:01:00Z" }],
  });
  const answer = {
    start_time: "2026-11-20T08:00:00Z",
    end_time: "2026-11-20T08:03:00Z",
    stride_seconds: 60,
    series: [series("a"), series("b")],
  } as never;
  const [runs, errors] = CHARTS.map((kind) => toPlotted(kind, answer));
  expect(stack(runs ?? []).map(({ values }) => values)).toEqual([
    [0, 1, 0],
    [0, 2, 0],
  ]);
  expect(errors?.[0]?.values).toEqual([null, 0.5, null]);
});

test("revisions are marked where they began to serve, without previews and failed builds", () => {
  const commit = { deployment_id: "d", repo_commit_sha: "c535954aaa" };
  const revision = (id: string, status: string, updated_at: string, is_preview = false) =>
    ({ ...commit, id, number: id.length, status, updated_at, is_preview }) as never;
  const marks = toRevisionMarks(
    [
      revision("later-of-two", "DEPLOYED", "2026-11-20T08:02:00Z"),
      revision("earlier", "DEPLOYED", "2026-11-20T08:01:00Z"),
      revision("before", "DEPLOYED", "2026-11-20T07:59:59Z"),
      revision("failed", "BUILD_FAILED", "2026-11-20T08:01:00Z"),
      revision("preview", "DEPLOYED", "2026-11-20T08:01:00Z", true),
    ],
    { start_time: "2026-11-20T08:00:00.000000Z", end_time: "2026-11-20T09:00:00.000000Z" },
  );
  expect(marks.map(({ name, at }) => [name, at])).toEqual([
    ["c535954 #7", "2026-11-20T08:01:00Z"],
    ["c535954 #12", "2026-11-20T08:02:00Z"],
  ]);
});

describe("messages are found in", () => {
  const serialized = {
    lc: 1,
    type: "constructor",
    id: ["langchain_core", "messages", "AIMessage"],
    kwargs: { content: "hi", tool_calls: [{ name: "refund", args: { id: 1 } }] },
  };
  const answer = { role: "agent", text: "hi", calls: [{ name: "refund", args: { id: 1 } }] };
  const question = { role: "user", text: "hello", calls: [] };
  test.each([
    [
      "a state",
      { messages: [{ type: "human", content: "hello" }, serialized] },
      [question, answer],
    ],
    ["a model's input", { messages: [[{ role: "user", content: "hello" }]] }, [question]],
    ["generations", { generations: [[{ text: "hi", message: serialized }]] }, [answer]],
    ["one message", serialized, [answer]],
    ["blocks", [{ role: "user", content: [{ type: "text", text: "hello" }] }], [question]],
  ])("%s", (_, payload, messages) => {
    expect(toConversation(findMessages(payload) ?? [])).toMatchObject(messages);
  });

  test.each([
    [{ messages: ["text"] }],
    [{ messages: [] }],
    [{ query: 1 }],
    [null],
    ["text"],
    [{ messages: [{ type: "human", content: "a" }, { b: 1 }] }],
  ])("no payload such as %j", (payload) => expect(findMessages(payload)).toBeNull());
});

test("a search for a word names its project and its time, which the list had last", () => {
  const pricing = { id: "p1", name: "pricing" };
  const q = { q: 'search("a \\"b\\"")', runs: "all" };
  expect(wordSearch('a "b"', pricing, {})).toEqual({
    label: 'Search traces for "a "b"" in pricing, last 24 h',
    search: { project: "p1", ...q },
  });
  expect(wordSearch("x", pricing, { range: "7d" })).toMatchObject({
    label: 'Search traces for "x" in pricing, last 7 days',
    search: { project: "p1", range: "7d" },
  });
  const [from, to] = ["2020-11-20T07:00:00Z", "2020-11-21T07:00:00Z"];
  expect(wordSearch("x", pricing, { range: "7d", from, to })).toMatchObject({
    label: 'Search traces for "x" in pricing, 20 Nov 2020 to 21 Nov 2020',
    search: { range: "7d", from, to },
  });
  expect(wordSearch("x", undefined, {}).label).toBe('Search traces for "x"');
});

test.each([
  [1, false, "1 trace, all shown"],
  [1200, false, "1,200 traces, all shown"],
  [50, true, "50 traces shown, and there are more"],
] as const)("a list of %d traces, more: %s, names its length", (count, hasMore, text) => {
  expect(countText(count, "trace", { hasMore })).toBe(text);
});
