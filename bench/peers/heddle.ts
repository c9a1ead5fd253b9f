import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../local/processes/ports.ts";
import type { StackInfo } from "../../local/stack.ts";
import { type Api, apiOf } from "../client.ts";
import { createDeployment, pushAgent } from "../deployments.ts";
import { type Peer, send } from "./peer.ts";
import { Server } from "./server.ts";
import { threadsApi } from "./threads-api.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Runs `npm start`. A key is a thread; with `sync` each step is on disk before the next begins. */
export async function heddle(durability: "async" | "sync"): Promise<Peer> {
  const dir = await mkdtemp(join(tmpdir(), "heddle-bench-peer-"));
  const [port, server] = [await freePort(), new Server()];
  let [agent, api_key] = ["", ""];
  const readInfo = async (): Promise<StackInfo> =>
    JSON.parse(await readFile(join(dir, "local.json"), "utf8"));
  const call = (path: string, body?: unknown) =>
    send(`${agent}${path}`, body, { "X-Api-Key": api_key });

  return {
    name: durability === "sync" ? "heddle, sync" : "heddle",
    server,
    start: async () => {
      const env = { PORT: `${port}`, HEDDLE_DIR: dir };
      const command = [process.execPath, "scripts/start.ts"];
      await server.spawn(command, { cwd: ROOT, env }, async () => {
        await readInfo();
        await send(`http://127.0.0.1:${port}/ok`);
      });
      if (agent !== "") return;
      const info = await readInfo();
      api_key = info.api_key;
      agent = await deploy(info);
    },
    ...threadsApi(call, { durability }),
  };
}

async function deploy(info: StackInfo): Promise<string> {
  const api: Api = apiOf(info);
  const id = await createDeployment(api, "peer", await pushAgent(info.git, "peer"));
  return `${info.base_url}/agents/${id}`;
}
