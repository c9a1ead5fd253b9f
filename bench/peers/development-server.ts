import { cp, mkdtemp, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../local/processes/ports.ts";
import { type Peer, send } from "./peer.ts";
import { Server } from "./server.ts";
import { threadsApi } from "./threads-api.ts";

const FOLDER = import.meta.dirname;
const COMMAND = join(FOLDER, "node_modules/.bin/langgraphjs");

/** LangGraph's own development server, in memory: a run that waits for another one polls each 0.5 s. */
export async function developmentServer(): Promise<Peer> {
  const dir = await mkdtemp(join(tmpdir(), "heddle-bench-langgraph-"));
  await cp(join(FOLDER, "../agent/steps.ts"), join(dir, "steps.ts"));
  await symlink(join(FOLDER, "node_modules"), join(dir, "node_modules"));
  await writeFile(join(dir, "package.json"), JSON.stringify({ type: "module" }));
  const config = { graphs: { steps: "./steps.ts:graph" }, env: {}, node_version: "22" };
  await writeFile(join(dir, "langgraph.json"), JSON.stringify(config));
  const [port, server] = [await freePort(), new Server()];
  const url = `http://127.0.0.1:${port}`;
  return {
    name: "langgraph development server",
    server,
    start: () => {
      const args = ["dev", "--port", `${port}`, "--host", "127.0.0.1", "--no-browser"];
      return server.spawn([COMMAND, ...args], { cwd: dir }, () => send(`${url}/ok`));
    },
    ...threadsApi((path, body) => send(`${url}${path}`, body)),
  };
}
