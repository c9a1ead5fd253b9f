// Durable engines that install from npm, each with a service that takes the steps.
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../local/processes/ports.ts";
import { type Peer, send } from "./peer.ts";
import { postgresOf } from "./postgres.ts";
import { Server } from "./server.ts";

const FOLDER = import.meta.dirname;

/** Returns the peer for a file of services/, which serves the HTTP of services/http.mjs. */
async function service(
  name: string,
  file: string,
  env: Record<string, string>,
  server = new Server(),
): Promise<Peer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const command = [process.execPath, join(FOLDER, "services", file)];
  const steps = async (key: string) =>
    ((await send(`${url}/steps?key=${key}`)) as { steps: number }).steps;
  return {
    name,
    server,
    start: () =>
      server.spawn(command, { cwd: FOLDER, env: { ...env, PORT: `${port}` } }, () => steps("none")),
    run: (key, count) => send(`${url}/run`, { key, steps: count }),
    enqueue: (key, count) => send(`${url}/enqueue`, { key, steps: count }),
    steps,
  };
}

export function langgraph(): Promise<Peer> {
  return service("langgraph in process", "langgraph.mjs", {});
}

/** `concurrency` 1: all keys have one order. More: no key has an order. */
export async function openworkflow(concurrency: number): Promise<Peer> {
  const dir = await mkdtemp(join(tmpdir(), "heddle-bench-openworkflow-"));
  const env = { DATABASE: join(dir, "database"), CONCURRENCY: `${concurrency}` };
  return service(`openworkflow, ${concurrency} at once`, "openworkflow.mjs", env);
}

/** DBOS, whose queue has a partition for each key and polls each 10 ms instead of each second. */
export async function dbos(): Promise<Peer> {
  const server = new Server();
  const postgres = await postgresOf(server);
  const peer = await service("dbos", "dbos.mjs", { DATABASE_URL: postgres.url }, server);
  const start = async () => {
    await postgres.start();
    await peer.start();
  };
  return { ...peer, start };
}

/** Restate's server with its defaults, and a service with a virtual object. */
export async function restate(): Promise<Peer> {
  const dir = await mkdtemp(join(tmpdir(), "heddle-bench-restate-"));
  const [ingress, admin] = [await freePort(), await freePort()];
  const [node, port] = [await freePort(), await freePort()];
  const server = new Server();
  const url = `http://127.0.0.1:${ingress}/counter`;
  const env = {
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
    RESTATE_DISABLE_TELEMETRY: "true",
    RESTATE_LOG_FILTER: "error",
  };
  const program = join(FOLDER, "node_modules/.bin/restate-server");
  return {
    name: "restate",
    server,
    start: async () => {
      const serving = [process.execPath, join(FOLDER, "services/restate.mjs")];
      await server.spawn(serving, { cwd: FOLDER, env: { PORT: `${port}` } }, async () => {});
      // Registration needs both: the server reads the handlers from the service.
      const register = { uri: `http://127.0.0.1:${port}`, force: true };
      await server.spawn([program, "--base-dir", dir], { cwd: dir, env }, () =>
        send(`http://127.0.0.1:${admin}/deployments`, register),
      );
    },
    run: (key, steps) => send(`${url}/${key}/run`, { steps }),
    enqueue: (key, steps) => send(`${url}/${key}/run/send`, { steps }),
    steps: async (key) => ((await send(`${url}/${key}/steps`, {})) as { steps: number }).steps,
  };
}
