// Prints the structure of `src`: circles, forbidden imports, the largest folders, files and functions.
// Ends with 1 when an import breaks a rule of scripts/house/rules.ts.
import { findCircles } from "./house/circles.ts";
import { functionsOf } from "./house/functions.ts";
import { importViolations } from "./house/rules.ts";
import {
  countBy,
  filesOf,
  folderOf,
  foldersOf,
  readSources,
  type Source,
} from "./house/sources.ts";

const LISTED = 10;

const sources = await readSources();
const lines = ({ text }: Source) => text.trimEnd().split("\n").length;
const total = sources.reduce((sum, source) => sum + lines(source), 0);
const circles = findCircles(filesOf(sources));
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
print("Folders by files", largest([...countBy(sources, folderOf)]));
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
