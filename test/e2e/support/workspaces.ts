import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { uniqueName } from "./deployments.ts";
import { stack } from "./stack.ts";

const run = promisify(execFile);

/** Creates a workspace beside the stack's own. Returns the headers of its admin. */
export async function createWorkspace(name = "main"): Promise<Record<string, string>> {
  const org = ["--org", uniqueName("org"), "--plan", "enterprise"];
  const command = ["scripts/workspace.ts", "create", ...org, "--name", name, "--role", "admin"];
  const env = { ...process.env, HEDDLE_DIR: stack.dir };
  const { stdout } = await run(process.execPath, command, { env });
  const key = /lsv2_sk_[A-Za-z0-9]{40}/.exec(stdout)?.[0];
  const tenant_id = stdout.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g)?.at(-1);
  if (!key || !tenant_id) throw new Error(`scripts/workspace.ts printed no key: ${stdout}`);
  return { "x-api-key": key, "x-tenant-id": tenant_id };
}
