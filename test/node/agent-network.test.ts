// The process of agents refuses private addresses when it connects, whatever was checked before: DNS rebinding.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentConfig } from "../../local/pool/bindings.ts";
import { Child, type Limits } from "../../local/pool/child.ts";

const MEGABYTE = 1024 * 1024;
const LIMITS: Limits = {
  label: "agent",
  heap_mb: null,
  rss_bytes: 512 * MEGABYTE,
  data_bytes: 1280 * MEGABYTE,
  computes_ms: 3000,
};
/** Fetches as Egress does after its check. */
const SCRIPT = `
export default { async fetch(request, env) {
  const { searchParams } = new URL(request.url);
  const url = searchParams.get("url");
  if (url === null) return new Response("pong");
  const network = searchParams.has("listed") ? env.LISTED_HOSTS : globalThis;
  try {
    return new Response(await (await network.fetch(url)).text());
  } catch (error) {
    return new Response(String(error), { status: 502 });
  }
} };`;

const before = process.cwd();
let dir: string;
let child: Child;
let server: Server;
let port: number;
let requests = 0;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "heddle-network-"));
  process.chdir(dir);
  await mkdir("bundle/local", { recursive: true });
  await writeFile("bundle/local/isolate-host.js", SCRIPT);
  child = new Child({ config: await agentConfig(dir, "main", {}), limits: LIMITS });
  await child.start();
  server = createServer((_, response) => {
    requests += 1;
    response.end("private");
  });
  await new Promise<void>((resolve) => server.listen(0, () => resolve()));
  port = (server.address() as AddressInfo).port;
});

afterAll(async () => {
  child.kill("The test ended.");
  await child.exited;
  server.closeAllConnections();
  server.close();
  process.chdir(before);
  await rm(dir, { recursive: true });
});

function fetchThroughChild(query: Record<string, string>): Promise<[number, string]> {
  const socketPath = child.socket.replace(".sock", ".ping");
  const path = `/?${new URLSearchParams(query)}`;
  return new Promise((resolve, reject) => {
    const fetching = request({ socketPath, path }, async (response) => {
      const text = Buffer.concat(await response.toArray()).toString();
      resolve([response.statusCode ?? 0, text]);
    });
    fetching.once("error", reject);
    fetching.end();
  });
}

test.each(["127.0.0.1", "127.9.9.9", "localhost", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]"])(
  "a fetch of %s is refused when it connects",
  async (host) => {
    requests = 0;
    const [status] = await fetchThroughChild({ url: `http://${host}:${port}/` });
    expect(status).toBe(502);
    expect(requests).toBe(0);
  },
);

test("a listed host is reached", async () => {
  const query = { url: `http://127.0.0.1:${port}/`, listed: "true" };
  expect(await fetchThroughChild(query)).toEqual([200, "private"]);
});
