import { execFile } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../../local/processes/ports.ts";
import { asPostgres, postgresFolder } from "../../test/support/node/databases.ts";
import type { Server } from "./server.ts";

const run = promisify(execFile);

/** Creates a database of Debian's Postgres with its defaults: each commit is on disk. */
export async function postgresOf(server: Server) {
  const bin = postgresFolder();
  if (bin === null) throw new Error("Postgres is missing: scripts/install-servers.sh installs it");
  const dir = await mkdtemp(join(tmpdir(), "heddle-bench-postgres-"));
  const [data, port] = [join(dir, "data"), await freePort()];
  const init = [join(bin, "initdb"), "-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8"];
  const [program = "", ...args] = await asPostgres([...init, "--locale=C"], dir);
  await run(program, args, { cwd: dir });
  const place = ["-p", `${port}`, "-h", "127.0.0.1", "-k", dir];
  const url = `postgres://bench@127.0.0.1:${port}/postgres`;
  return {
    url,
    start: async () => {
      const command = await asPostgres([join(bin, "postgres"), "-D", data, ...place], dir);
      await server.spawn(command, { cwd: dir }, () => run("psql", [url, "-c", "SELECT 1"]));
    },
  };
}
