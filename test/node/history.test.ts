import { expect, test } from "vitest";
import { commitProblems, countLines } from "../../scripts/house/history.ts";

const commit = { id: "1", subject: "fix(exports): write the last file once", body: "", lines: 20 };

test.each([
  ["a small commit", { lines: 50 }],
  ["a larger one with a body", { lines: 300, body: "Why." }],
])("the history accepts %s", (_, fields) => {
  expect(commitProblems({ ...commit, ...fields })).toEqual([]);
});

test.each([
  ["a larger one without a body", { lines: 51 }, "no body"],
  ["several purposes", { lines: 301, body: "Why." }, "at most 300"],
  ["a subject without a type", { subject: "Parked work" }, "not like"],
  ["a long subject", { subject: `fix: ${"x".repeat(70)}` }, "over 72"],
])("the history refuses %s", (_, fields, problem) => {
  expect(commitProblems({ ...commit, ...fields })).toEqual([expect.stringContaining(problem)]);
});

test("lines of generated, binary and moved files are not counted", () => {
  const numstat = [
    "10\t2\tsrc/app.ts",
    "900\t0\tpackage-lock.json",
    "800\t1\tmigrations/meta/0014_snapshot.json",
    "-\t-\tdocs/console/home/light-1280.webp",
    "0\t0\tsrc/exports/{orders => bulk-exports}/retry.ts",
  ];
  expect(countLines(numstat.join("\n"))).toBe(12);
});
