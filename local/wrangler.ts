import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Environment } from "../scripts/regions.ts";

const ROOT = join(import.meta.dirname, "..");
const CLI = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
const run = promisify(execFile);

const BUSY_ATTEMPTS = 5;

/**
 * Runs a wrangler command against the stack's database. The Worker writes to the same file: a command that finds the
 * database locked has done nothing, and is repeated.
 */
export async function runWrangler(
  path: string,
  args: string[],
  region?: Environment,
  attempts = BUSY_ATTEMPTS,
): Promise<string> {
  const place = ["--local", "--persist-to", join(path, "state")];
  try {
    return await execWrangler(path, [...args, ...environmentOf(region), ...place]);
  } catch (error) {
    if (attempts === 1 || !isBusy(error)) throw error;
    return runWrangler(path, args, region, attempts - 1);
  }
}

function isBusy(error: unknown): boolean {
  const { stdout, stderr } = { stdout: "", stderr: "", ...Object(error) };
  return /SQLITE_BUSY|database is locked/.test(`${stdout}${stderr}`);
}

export function environmentOf(region: Environment | undefined): string[] {
  return region === undefined ? [] : ["--env", region];
}

export function execWrangler(path: string, args: string[]): Promise<string> {
  return execNode(path, [CLI, ...args]);
}

/** Runs a script that loads wrangler. Returns its stdout. */
export async function execNode(path: string, args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, args, {
    cwd: ROOT,
    env: environment(path),
    maxBuffer: 1 << 24,
  });
  return stdout;
}

/** Disables metrics, error reports and the check for a newer version. */
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
