// `npm run lint:api`: /openapi.json of a local stack, by Redocly's strict rules.
import { spawnSync } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startStack } from "../local/stack.ts";
import { readOptions } from "./options.ts";

const LINTER = "@redocly/cli@2.77.0";

// Refuses options, and answers --help.
readOptions({});
const dir = join(process.env.HEDDLE_DIR ?? ".heddle", "lint");
const file = join(dir, "openapi.json");
await rm(dir, { recursive: true, force: true });
const stack = await startStack({ dir, quiet: true });
try {
  const response = await fetch(`${stack.info.base_url}/openapi.json`);
  await writeFile(file, JSON.stringify(await response.json(), null, 2));
} finally {
  await stack.stop();
}
const args = ["--yes", LINTER, "lint", file, "--config", "redocly.yaml", "--format=stylish"];
const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
process.exitCode = spawnSync("npx", args, { stdio: "inherit", env }).status ?? 1;
