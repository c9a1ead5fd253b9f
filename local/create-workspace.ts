import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const COMMAND = join(import.meta.dirname, "../scripts/workspace.ts");

/**
 * Creates an organization with a workspace in the stack of a folder. Returns the workspace's id and a key of an admin.
 */
export async function createWorkspace(
  dir: string,
  org: string,
  name = "main",
): Promise<{ api_key: string; tenant_id: string }> {
  const options = ["--org", org, "--plan", "enterprise", "--name", name, "--role", "admin"];
  const env = { ...process.env, HEDDLE_DIR: dir };
  const { stdout } = await run(process.execPath, [COMMAND, "create", ...options], { env });
  const api_key = /lsv2_sk_[A-Za-z0-9]{40}/.exec(stdout)?.[0];
  // The command prints the id of the workspace last.
  const tenant_id = stdout.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g)?.at(-1);
  if (!api_key || !tenant_id) throw new Error(`scripts/workspace.ts printed no key: ${stdout}`);
  return { api_key, tenant_id };
}
