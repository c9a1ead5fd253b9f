import { execFile } from "node:child_process";
import { promisify } from "node:util";

export type Npm = { registry_url: string; ca_file: string | undefined };

const run = promisify(execFile);

/** npm's own settings: a mirror or a private CA is configured once. */
export async function readNpm(): Promise<Npm> {
  const args = ["config", "get", "registry", "cafile"];
  const { stdout } = await run("npm", args, { timeout: 20_000 });
  const read = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(stdout)?.[1] ?? "";
  const cafile = read("cafile");
  const ca_file = process.env.NODE_EXTRA_CA_CERTS ?? (cafile === "null" ? "" : cafile);
  return { registry_url: read("registry"), ca_file: ca_file === "" ? undefined : ca_file };
}
