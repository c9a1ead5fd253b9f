// docs/reference/conformance.md says of each call which test shows it: that test must be there, by that name.
import { glob, readFile } from "node:fs/promises";
import { expect, test } from "vitest";

const text = await readFile("docs/reference/conformance.md", "utf8");
const cells = (row: string) => row.split("|").map((cell) => cell.trim());

/** The last cells of all rows of the tables that have a column of tests. */
function shown(): string[] {
  const tables = text.split("\n\n").map((block) => block.split("\n").filter((l) => l[0] === "|"));
  return tables
    .filter(([header = ""]) => cells(header).at(-2) === "test")
    .flatMap(([, , ...rows]) => rows.map((row) => cells(row).at(-2) ?? ""));
}

test("every test that the page names is there", async () => {
  const files: Record<string, string> = {};
  const exclude = ["**/node_modules"];
  for await (const path of glob("test/**/*.test.ts", { exclude })) {
    files[path] = await readFile(path, "utf8");
  }
  const sources = Object.values(files).join("\n").replace(/\s+/g, " ");
  const named = shown().flatMap((cell) => [...cell.matchAll(/"([^"]+)"/g)]);
  expect(named.length).toBeGreaterThan(100);
  const parts = named.flatMap(([, name = ""]) => name.split("...").map((part) => part.trim()));
  expect(parts.filter((part) => !sources.includes(part))).toEqual([]);
  const paths = shown().flatMap((cell) => [...cell.matchAll(/`([\w./-]+\.test\.ts)`/g)]);
  expect(paths.length).toBeGreaterThan(20);
  const known = Object.keys(files);
  const missing = paths.filter(([, end = ""]) => !known.some((path) => path.endsWith(end)));
  expect(missing.map(([, path]) => path)).toEqual([]);
});
