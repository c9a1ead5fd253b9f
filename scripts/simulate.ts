// Prints what a load of a region costs, which limit of the platform it meets first, and how much of each it uses.
// scripts/simulate/counts.json has what one operation costs in rows, requests and bytes. Tests count it again and fail when
// it differs; `npm run counts` replaces it.
// Usage: npm run simulate -- --runs-per-s 1000 [--spans 15]; each field of `Load` is an option. --docs writes the tables and
// the assumptions of docs/scale.md.
import { readFileSync, writeFileSync } from "node:fs";
import { readOptions } from "./options.ts";
import { SHOWN, STANDARD, toLoad, toOption } from "./simulate/load.ts";
import { withTables } from "./simulate/page.ts";
import { readProcessor } from "./simulate/processor.ts";
import { ASSUMPTIONS, sources, table, toText } from "./simulate/report.ts";

const PAGE = "docs/scale.md";

const ofLoad = Object.entries(STANDARD).map(
  ([name, standard]) => [toOption(name), { type: "string", default: String(standard) }] as const,
);
const { values } = readOptions({
  docs: { type: "boolean", default: false },
  ...(Object.fromEntries(ofLoad) as Record<string, { type: "string"; default: string }>),
});
const { docs, ...options } = values;
if (docs) writeFileSync(PAGE, withTables(readFileSync(PAGE, "utf8"), SHOWN, readProcessor()));
else {
  console.log(
    toText(table({ "this load": toLoad(options as Record<string, string>) }, readProcessor())),
  );
  console.log(`\n${ASSUMPTIONS.join("\n")}\n${sources().join("\n")}`);
}
