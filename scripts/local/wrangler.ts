import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Region } from "../regions.ts";

const ROOT = join(import.meta.dirname, "../..");
const CLI = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
const run = promisify(execFile);

/** A wrangler command against the stack's own database. */
export function runWrangler(path: string, args: string[], region?: Region): Promise<string> {
  const place = ["--local", "--persist-to", join(path, "state")];
  return execWrangler(path, [...args, ...environmentOf(region), ...place]);
}

export function environmentOf(region: Region | undefined): string[] {
  return region === undefined ? [] : ["--env", region];
}

export async function execWrangler(path: string, args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [CLI, ...args], {
    cwd: ROOT,
    env: environment(path),
    maxBuffer: 1 << 24,
  });
  return stdout;
}

/** Nothing of this calls home: no metrics, no reports, no look for a newer version. */
function environment(path: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    ENCRYPTION_KEYS: undefined,
    CLOUDFLARE_ENV: undefined,
    FORCE_COLOR: undefined,
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_SEND_ERROR_REPORTS: "false",
    WRANGLER_HIDE_BANNER: "true",
    WRANGLER_WRITE_LOGS: "false",
    WRANGLER_REGISTRY_PATH: join(path, "registry"),
    NO_COLOR: "1",
  };
}
