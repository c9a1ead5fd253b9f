import { describe, expect, test } from "vitest";
import { findCircles } from "../../scripts/house/circles.ts";
import { findClocks } from "../../scripts/house/clocks.ts";
import { importViolations } from "../../scripts/house/rules.ts";
import { ambiguousTypes, readSources, readTests } from "../../scripts/house/sources.ts";
import { checkRules } from "../../scripts/house/structure.ts";

const source = (path: string, files: string[], packages: string[] = []) => {
  return { path, text: "", files, packages };
};

describe("imports of src", () => {
  test("follow the table, types included", async () => {
    const sources = await readSources();
    expect(sources.length).toBeGreaterThan(400);
    expect(sources.flatMap(({ files }) => files).length).toBeGreaterThan(1500);
    expect(importViolations(sources)).toEqual([]);
  });

  test.each([
    ["a feature below", "src/traces/query.ts", "src/agent-server/threads/api/threads/service.ts"],
    [
      "a private file of another feature",
      "src/agent-server/threads/object/thread-calls.ts",
      "src/traces/object/object.ts",
    ],
    ["a feature, from shared", "src/shared/http/http.ts", "src/traces/projects/schema.ts"],
    ["the Worker, from the isolate", "src/isolate/agent/agent.ts", "src/shared/errors.ts"],
    ["the Worker's entry, from a feature", "src/exports/bulk-exports/service.ts", "src/app.ts"],
    ["a table, from a route", "src/exports/bulk-exports/routes.ts", "src/exports/table.ts"],
    ["a service, from an object", "src/traces/object/object.ts", "src/traces/projects/service.ts"],
    [
      "a page of the console, from another one",
      "src/console/pages/overview/page.tsx",
      "src/console/pages/exports/page.tsx",
    ],
    [
      "the storage of a thread, from its routes",
      "src/agent-server/threads/api/runs/run-service.ts",
      "src/agent-server/threads/object/storage/store.ts",
    ],
    [
      "the directory, from the contract",
      "src/agent-server/threads/contract/records.ts",
      "src/agent-server/threads/directory/entry.ts",
    ],
  ])("refuse %s", (_, path, file) => {
    expect(importViolations([source(path, [file])])).toEqual([
      expect.stringMatching(`^${path}: may not import `),
    ]);
  });

  test("refuse packages that a file's kind must not know", () => {
    const found = importViolations([
      source("src/exports/bulk-exports/routes.ts", [], ["drizzle-orm"]),
    ]);
    expect(found).toEqual([expect.stringContaining("may not import drizzle-orm")]);
  });

  test.each([
    ["a value of a schema", 'import { Me } from "../traces/schema.ts";', "src/traces/schema.ts"],
    [
      "a type of a service",
      'import type { Me } from "../traces/service.ts";',
      "src/traces/service.ts",
    ],
  ])("refuse %s in the console", (_, text, file) => {
    const found = importViolations([{ ...source("src/console/main.tsx", [file]), text }]);
    expect(found).toEqual([expect.stringContaining("pages import types of schemas only")]);
  });

  test("allow types of schemas in the console", () => {
    const text = 'import type { Me } from "../traces/schema.ts";';
    const file = "src/traces/schema.ts";
    expect(importViolations([{ ...source("src/console/main.tsx", [file]), text }])).toEqual([]);
  });

  test("leave entrypoints by name to callbacks.ts", () => {
    const text = 'import { exports } from "cloudflare:workers";';
    const violations = ["src/traces/deletion.ts", "src/traces/callbacks.ts"].flatMap((path) =>
      importViolations([{ ...source(path, []), text }]),
    );
    expect(violations).toEqual([expect.stringContaining("src/traces/deletion.ts: may not import")]);
  });

  test("name every feature", () => {
    const [found] = importViolations([
      source("src/billing/service.ts", ["src/shared/http/http.ts"]),
    ]);
    expect(found).toContain('does not name the feature "billing"');
  });
});

test("src keeps each rule of its structure", async () => {
  const rules = checkRules(await readSources());
  expect(rules.length).toBeGreaterThan(4);
  expect(rules.filter(({ broken }) => broken.length > 0)).toEqual([]);
});

test("an exported type has a name that no other file exports", async () => {
  expect(ambiguousTypes(await readSources())).toEqual([]);
});

test("circles are found through files of any number, and nothing else is", () => {
  const graph = new Map([
    ["a", ["b"]],
    ["b", ["c"]],
    ["c", ["a", "d"]],
    ["d", ["e"]],
    ["e", ["d"]],
    ["f", ["a", "f"]],
  ]);
  expect(findCircles(graph)).toEqual([
    ["a", "b", "c"],
    ["d", "e"],
  ]);
});

describe("clocks of tests", () => {
  const find = (text: string, path = "test/a.test.ts") => findClocks([{ path, text }]);

  test("decide no test", async () => {
    const tests = await readTests();
    expect(tests.length).toBeGreaterThan(300);
    expect(findClocks(tests)).toEqual([]);
  });

  test.each([
    "expect(Date.now() - started).toBeLessThan(2000);",
    "expect(performance.now() - started).not.toBeGreaterThanOrEqual(2000);",
    "expect((Date.now() - started) / 1000, 'seconds').toBeGreaterThan(1);",
    "const took = performance.now() - started;\nexpect(took).toBeLessThan(100);",
    "const took = Date.now() - started; const seconds = took / 1000; expect(seconds).toBeLessThanOrEqual(1);",
    "expect(Date.now() - started < 100).toBe(true);",
    "const took = Date.now() - started; expect(100 > took).toBe(true);",
  ])("are found: %s", (text) => {
    expect(find(text)).toEqual([expect.stringContaining("compares elapsed time")]);
  });

  test.each(["await vi.waitFor(check);", "await vi.waitUntil(() => isOver, { timeout: 50 });"])(
    "are found in waits outside the helper: %s",
    (text) => {
      expect(find(text)).toEqual(["test/a.test.ts:1: use eventually()"]);
      expect(find(text, "test/support/eventually.ts")).toEqual([]);
    },
  );

  test("are found in false timers of an isolate that others use", () => {
    const refused = "vi.useFakeTimers();\nvi.useFakeTimers({ toFake: ['setTimeout'] });";
    expect(find(refused)).toHaveLength(2);
    expect(find(refused, "test/node/a.test.ts")).toEqual([]);
    expect(find('vi.useFakeTimers({ toFake: ["Date"], now: 0 });')).toEqual([]);
  });

  test.each([
    "await eventually(check); await page.getByText('x').waitFor();",
    "expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(10_000);",
    "expect(await alarm()).toBeGreaterThan(Date.now() + 60_000);",
    "const took = performance.now() - started; console.error(took); expect(count).toBeLessThan(3);",
    "const at = Date.now() - 1000; await sql('UPDATE crons SET next_at = ?', at);",
    "expect(answer.took).toBeLessThan(3); const wait = () => Date.now() - started;",
  ])("are not found: %s", (text) => {
    expect(find(text)).toEqual([]);
  });
});
