// Prints the rules for the structure of `src` and whether they hold, then the largest folders, files and functions.
// Ends with 1 when a rule is broken, or a clock decides a test.
import { findClocks } from "./house/clocks.ts";
import { functionsOf } from "./house/functions.ts";
import { countBy, folderOf, readSources, readTests } from "./house/sources.ts";
import { checkRules, linesOf } from "./house/structure.ts";
import { readOptions } from "./options.ts";

const LISTED = 12;

readOptions({});
const sources = await readSources();

const rules = checkRules(sources);
for (const { name, broken } of rules) {
  console.log(broken.length === 0 ? `holds   ${name}: none` : `BROKEN  ${name}: ${broken.length}`);
  for (const place of broken) console.log(`        ${place}`);
}
print("Folders by files", largest([...countBy(sources, folderOf)]));
print("Files by lines", largest(sources.map((source) => [source.path, linesOf(source)])));
print("Functions by lines", largest(sources.flatMap(functionsOf)));
const clocks = findClocks(await readTests());
print("Clocks that decide a test", clocks);
const isBroken = rules.some(({ broken }) => broken.length > 0) || clocks.length > 0;
process.exitCode = isBroken ? 1 : 0;

function print(title: string, rows: readonly string[]): void {
  console.log(`\n${title}: ${rows.length === 0 ? "none" : ""}`);
  for (const row of rows) console.log(`  ${row}`);
}

function largest(rows: readonly [name: string, size: number][]): string[] {
  const sorted = [...rows].sort(([, one], [, other]) => other - one);
  return sorted.slice(0, LISTED).map(([name, size]) => `${String(size).padStart(4)}  ${name}`);
}
