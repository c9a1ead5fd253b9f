import { readFileSync, writeFileSync } from "node:fs";

const PATH = "scripts/simulate/counts.json";

/** Writes what a test counted. Tests run in workerd, which has no files. Synchronous: tests run at once. */
export async function writeCounts(request: Request): Promise<Response> {
  const counted = (await request.json()) as Record<string, unknown>;
  const counts = { ...JSON.parse(readFileSync(PATH, "utf8")), ...counted };
  const sorted = Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(PATH, `${JSON.stringify(sorted, null, 2)}\n`);
  return new Response(null, { status: 204 });
}
