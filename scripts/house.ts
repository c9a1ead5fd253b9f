// Prints the targets for the structure of `src` and whether they hold, then the largest folders, files and functions.
// Ends with 1 when an import breaks a rule of scripts/house/rules.ts, or a clock decides a test.
import { findClocks } from "./house/clocks.ts";
import { functionsOf } from "./house/functions.ts";
import { importViolations } from "./house/rules.ts";
import { countBy, folderOf, readSources, readTests } from "./house/sources.ts";
import { linesOf, measureTargets } from "./house/targets.ts";
import { readOptions } from "./options.ts";

const LISTED = 12;

readOptions({});
const sources = await readSources();

for (const { name, measured, bound, misses } of measureTargets(sources)) {
  console.log(`${measured <= bound ? "holds " : "MISSED"} ${name}: ${measured} (at most ${bound})`);
  for (const miss of misses) console.log(`         ${miss}`);
}
print("Folders by files", largest([...countBy(sources, folderOf)]));
print("Files by lines", largest(sources.map((source) => [source.path, linesOf(source)])));
print("Functions by lines", largest(sources.flatMap(functionsOf)));
const clocks = findClocks(await readTests());
print("Clocks that decide a test", clocks);
process.exitCode = importViolations(sources).length + clocks.length > 0 ? 1 : 0;

function print(title: string, rows: readonly string[]): void {
  console.log(`\n${title}: ${rows.length === 0 ? "none" : ""}`);
  for (const row of rows) console.log(`  ${row}`);
}

function largest(rows: readonly [name: string, size: number][]): string[] {
  const sorted = [...rows].sort(([, one], [, other]) => other - one);
  return sorted.slice(0, LISTED).map(([name, size]) => `${String(size).padStart(4)}  ${name}`);
}
