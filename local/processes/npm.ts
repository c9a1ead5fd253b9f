import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { runUnlessCurrent } from "../../scripts/memo.ts";

export type Npm = { registry_url: string; ca_file: string | undefined };

const run = promisify(execFile);

/**
 * Returns npm's own settings, so that a mirror or a private CA is configured once. NODE_EXTRA_CA_CERTS overrides npm's
 * `cafile`. `memo` is the file that caches the settings: npm needs a fifth of a second to answer.
 */
export async function readNpm(memo: string): Promise<Npm> {
  const { registry_url, cafile } = await runUnlessCurrent({
    file: memo,
    values: { cwd: process.cwd(), env: npmVariables() },
    outputs: [],
    run: readConfig,
  });
  const ca_file = process.env.NODE_EXTRA_CA_CERTS ?? cafile;
  return { registry_url, ca_file: ca_file === "" ? undefined : ca_file };
}

/** Variables that decide npm's settings or where it finds them. */
function npmVariables() {
  const isRead = (name: string) => /^(npm_config_.*|home|path|prefix)$/i.test(name);
  return Object.entries(process.env).filter(([name]) => isRead(name));
}

async function readConfig() {
  const args = ["config", "get", "registry", "cafile", "userconfig", "globalconfig"];
  const { stdout } = await run("npm", args, { timeout: 20_000 });
  const read = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(stdout)?.[1] ?? "";
  const cafile = read("cafile");
  const inputs = [resolve(".npmrc"), read("userconfig"), read("globalconfig")];
  const result = { registry_url: read("registry"), cafile: cafile === "null" ? "" : cafile };
  return { result, inputs };
}
