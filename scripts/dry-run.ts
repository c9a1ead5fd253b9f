// `npm run dry-run`: builds and checks what `wrangler deploy` would upload to each environment. Sends nothing.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { readOptions } from "./options.ts";
import { ENVIRONMENTS, FILES } from "./regions.ts";

const run = promisify(execFile);
const ENV = { ...process.env, WRANGLER_SEND_METRICS: "false", WRANGLER_HIDE_BANNER: "true" };

readOptions({});
const results = await Promise.all(
  ENVIRONMENTS.flatMap((env) => FILES.map((file) => deploy(env, file))),
);
process.exitCode = results.every(Boolean) ? 0 : 1;

async function deploy(env: string, file: string): Promise<boolean> {
  const label = `${env} ${file.padEnd(22)}`;
  try {
    const { stdout } = await run("wrangler", ["deploy", "--dry-run", "-c", file, "--env", env], {
      env: ENV,
    });
    console.log(`${label} ${/^Total Upload: .*$/m.exec(stdout)?.[0] ?? ""}`);
    return true;
  } catch (error) {
    const { stdout = "", stderr = String(error) } = error as { stdout?: string; stderr?: string };
    console.error(`${label} failed\n${stdout}${stderr}`);
    return false;
  }
}
