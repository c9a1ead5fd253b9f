// Prints the structure of `src`: circles, forbidden imports, the largest folders, files and functions.
// Ends with 1 when an import breaks a rule of scripts/house/rules.ts.
import { dirname } from "node:path";
import { findCircles } from "./house/circles.ts";
import { functionsOf } from "./house/functions.ts";
import { importViolations } from "./house/rules.ts";
import { readSources, type Source } from "./house/sources.ts";

const LISTED = 10;

const sources = await readSources();
const lines = ({ text }: Source) => text.trimEnd().split("\n").length;
const total = sources.reduce((sum, source) => sum + lines(source), 0);
const circles = findCircles(new Map(sources.map(({ path, files }) => [path, files])));
const violations = importViolations(sources);

console.log(`${sources.length} files, ${total} lines`);
print(
  "Circles of files, types included",
  circles.map((circle) => circle.join(" <-> ")),
);
print(
  "Circles of folders",
  findCircles(foldersOf(sources)).map((circle) => circle.join(" <-> ")),
);
print("Imports against the rules", violations);
print("Folders by files", largest(countBy(sources, ({ path }) => dirname(path))));
print("Files by lines", largest(sources.map((source) => [source.path, lines(source)])));
print("Functions by lines", largest(sources.flatMap(functionsOf)));
process.exitCode = violations.length > 0 ? 1 : 0;

function print(title: string, rows: readonly string[]): void {
  console.log(`\n${title}: ${rows.length === 0 ? "none" : ""}`);
  for (const row of rows) console.log(`  ${row}`);
}

function largest(rows: readonly [name: string, size: number][]): string[] {
  const sorted = [...rows].sort(([, one], [, other]) => other - one);
  return sorted.slice(0, LISTED).map(([name, size]) => `${String(size).padStart(4)}  ${name}`);
}

function countBy<T>(items: readonly T[], keyOf: (item: T) => string): [string, number][] {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return [...counts];
}

function foldersOf(all: readonly Source[]): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>();
  for (const { path, files } of all) {
    const targets = graph.get(dirname(path)) ?? new Set();
    for (const file of files) targets.add(dirname(file));
    graph.set(dirname(path), targets);
  }
  return graph;
}
