import { describe, expect, test } from "vitest";
import {
  checkpointName,
  forkOf,
  groupByRun,
  labelOf,
  lineageOf,
  toMarks,
} from "../../src/console/runs/checkpoints.ts";
import { diffOf } from "../../src/console/ui/conversation/diff.ts";
import { changedFields } from "../../src/console/ui/conversation/fields.ts";

describe("the difference of two states", () => {
  test("names what was added, removed and changed by path", () => {
    const before = { a: 1, list: [{ x: 1 }], gone: null, same: { b: [1] } };
    const after = { a: 2, list: [{ x: 1 }, { x: 2 }], same: { b: [1] }, fresh: "y" };
    expect(diffOf(before, after)).toEqual({
      changes: [
        { path: "a", before: 1, after: 2 },
        { path: "list.1", before: undefined, after: { x: 2 } },
        { path: "gone", before: null, after: undefined },
        { path: "fresh", before: undefined, after: "y" },
      ],
      hasMore: false,
    });
  });

  test("has a limit that it names", () => {
    const after = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [n, n]));
    const { changes, hasMore } = diffOf({}, after);
    expect([changes.length, hasMore]).toEqual([100, true]);
    expect(diffOf({}, {})).toEqual({ changes: [], hasMore: false });
  });

  test("reads no property of a prototype", () => {
    const after = JSON.parse('{"__proto__": 1, "constructor": 2}') as object;
    expect(diffOf({}, after).changes.map(({ path, before }) => [path, before])).toEqual([
      ["__proto__", undefined],
      ["constructor", undefined],
    ]);
  });
});

describe("a history", () => {
  const row = (id: string, parent: string | null, run_id: string, next: string[] = []) => ({
    checkpoint: { checkpoint_id: id },
    parent_checkpoint: parent === null ? null : { checkpoint_id: parent },
    metadata: { run_id, source: parent === null ? "input" : "loop" },
    created_at: "2026-11-22T08:00:00Z",
    next,
  });

  test("is in the order of writing, grouped by run", () => {
    const marks = toMarks([
      row("3", "2", "r2"),
      row("2", "1", "r1", ["b"]),
      row("1", null, "r1", ["a"]),
    ]);
    expect(groupByRun(marks).map((group) => group.map(({ id }) => id))).toEqual([
      ["1", "2"],
      ["3"],
    ]);
    expect(marks.map((mark) => labelOf(mark, marks))).toEqual(["before a", "before b", "after b"]);
  });

  test("of a fork leaves out the checkpoints of the branch that it left", () => {
    const marks = toMarks([
      row("5", "4", "fork"),
      row("4", "2", "fork"),
      row("3", "2", "first"),
      row("2", "1", "first"),
      row("1", null, "first"),
    ]);
    expect(marks.map((_, at) => forkOf(marks, at))).toEqual([null, null, null, 1, null]);
    expect([...lineageOf(marks, 4)]).toEqual(["5", "4", "2", "1"]);
    expect([...lineageOf(marks, 2)]).toEqual(["3", "2", "1"]);
  });
});

test("checkpoints have the numbers of the history, and one before it has none", () => {
  const names = (hasOlder: boolean) => [0, 1, 2].map((at) => checkpointName(at, hasOlder));
  expect(names(false)).toEqual(["checkpoint 1", "checkpoint 2", "checkpoint 3"]);
  expect(names(true)).toEqual(["an older checkpoint", "checkpoint 1", "checkpoint 2"]);
});

test("an edited state is written without the values that are as they were", () => {
  const before = { count: 1, log: ["a"], user: { name: "x" }, messages: [] };
  const after = { ...before, count: 2, user: { name: "y" }, added: null };
  expect(changedFields(before, after)).toEqual({ count: 2, user: { name: "y" }, added: null });
  expect(changedFields(before, structuredClone(before))).toEqual({});
  expect(changedFields("text", "other")).toBe("other");
});
