// A tenant's agent on a stack with every switch of `npm start` on: finding 4 of the security review.
import { once } from "node:events";
import { createServer, request } from "node:http";
import net from "node:net";
import { beforeAll, expect, test } from "vitest";
import { client } from "./support/clients.ts";
import { deploy } from "./support/deployments.ts";
import { stack } from "./support/stack.ts";

const CONFIG = JSON.stringify({
  node_version: "22",
  graphs: Object.fromEntries(
    ["fetches", "connects", "writes", "floods", "hoards"].map((name) => [
      name,
      `./agent.ts:${name}`,
    ]),
  ),
});
const AGENT = `
import { once } from "node:events";
import net from "node:net";
import { env } from "cloudflare:workers";

export async function writes({ port, size, pieces }) {
  const socket = net.connect(port, "127.0.0.1");
  await once(socket, "connect");
  const taken = Array.from({ length: pieces }, () => socket.write(Buffer.alloc(size, "x")));
  const reads = net.connect(port, "127.0.0.1");
  await once(socket, "drain");
  const [answer] = await once(socket.end(), "data");
  reads.destroy();
  return { taken: taken.filter(Boolean).length, answer: String(answer) };
}
export async function floods({ port, size, pieces }) {
  const open = () => env.HEDDLE_TCP.openTcp("127.0.0.1:" + port, false);
  const session = await open();
  let refused = 0;
  const refuse = () => { refused += 1; };
  for (let n = 0; n < pieces; n++) session.write(new Uint8Array(size)).catch(refuse);
  await (await open()).close();
  const isRefused = (call) => call.then(() => false, (error) => String(error));
  const reading = session.read().catch(() => null);
  const other = await open();
  return {
    refused,
    large: await isRefused(other.write(new Uint8Array(1024 * 1024))),
    view: await isRefused(other.write(new Uint8Array(1024 * 1024).subarray(0, 1))),
    text: await isRefused(other.write("x")),
    second: await isRefused(session.read()),
  };
}
export async function hoards({ port, count }) {
  const opening = Array.from({ length: count }, () => env.HEDDLE_TCP.openTcp("127.0.0.1:" + port, false));
  const opened = await Promise.allSettled(opening);
  const failed = opened.filter(({ status }) => status === "rejected");
  return { failed: failed.length, reason: String(failed[0]?.reason) };
}
export async function connects({ port, host, text }: { port: number; host: string; text: string }) {
  const content = await new Promise<string>((resolve) => {
    const socket = net.connect(port, host, () => socket.write(text));
    socket.setTimeout(5000, () => resolve("timeout"));
    socket.once("data", (data) => resolve(String(data)));
    socket.once("error", (error) => resolve("error: " + error.message));
    socket.once("close", () => resolve("closed"));
  });
  return { messages: [{ role: "assistant", content }] };
}
export async function fetches({ urls }: { urls: string[] }) {
  const answers = [];
  for (const url of urls) {
    try {
      const response = await fetch(url);
      answers.push(response.status + " " + (await response.text()).slice(0, 200));
    } catch (error) {
      answers.push(String(error));
    }
  }
  return { messages: [{ role: "assistant", content: JSON.stringify(answers) }] };
}
`;

let deployment_id: string;

beforeAll(async () => {
  ({ id: deployment_id } = await deploy("egress", { "langgraph.json": CONFIG, "agent.ts": AGENT }));
});

async function answersTo(urls: string[]): Promise<string[]> {
  const values = await client(deployment_id).runs.wait(null, "fetches", { input: { urls } });
  const { messages } = values as { messages: { content: string }[] };
  return JSON.parse(messages.at(-1)?.content ?? "[]");
}

test("an agent reaches no port of the stack", async () => {
  const ports = [stack.base_url, stack.git.url, stack.s3.endpoint].map((url) => new URL(url).port);
  const hosts = [
    "127.0.0.1",
    "localhost",
    "127.1",
    "2130706433",
    "[::1]",
    "[::ffff:7f00:1]",
    "0.0.0.0",
  ];
  const paths = [
    "/ok",
    "/cdn-cgi/local/r2/public/heddle-artifacts/artifacts/x.json",
    "/cdn-cgi/local/scheduled",
  ];
  const urls = ports.flatMap((port) =>
    hosts.flatMap((host) => paths.map((path) => `http://${host}:${port}${path}`)),
  );
  for (const answer of await answersTo(urls)) {
    expect(answer).toMatch(/^403 Heddle refused this request: /);
  }
});

test.each([
  "local/r2/public/heddle-artifacts/artifacts/x.json",
  "local/r2/s3/heddle-artifacts",
  "local/scheduled?cron=*+*+*+*+*",
  "local/email",
  "local/explorer",
  "local/platform-proxy",
  "handler/scheduled?cron=*+*+*+*+*",
  "mf/scheduled",
])("the stack's port does not serve /cdn-cgi/%s", async (path) => {
  for (const method of ["GET", "POST", "PUT"]) {
    const headers = { "MF-Op": "GET", "MF-Original-URL": "http://x/", "MF-Route-Override": "x" };
    const response = await fetch(`${stack.base_url}/cdn-cgi/${path}`, { method, headers });
    expect(response.status).toBe(404);
    expect(await response.json()).toHaveProperty("detail");
  }
});

test("the stack's port opens no tunnel, and so no RPC session of the runtime", async () => {
  const path = "miniflare-unsafe-internal-capnp-connect";
  const connecting = request(stack.base_url, { method: "CONNECT", path });
  const opened = once(connecting, "connect");
  connecting.end();
  await expect(opened).rejects.toThrow("socket hang up");
});

test("an agent reaches the listed port", async () => {
  const server = createServer((_, response) => response.end("a model"));
  await once(server.listen(stack.agent_port, "127.0.0.1"), "listening");
  try {
    const url = `http://127.0.0.1:${stack.agent_port}`;
    const [answer, refused] = await answersTo([url, `${url}/cdn-cgi/x`]);
    expect(answer).toBe("200 a model");
    expect(refused).toMatch(/^403 Heddle refused/);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

async function connectTo(host: string, port: number): Promise<string> {
  const input = { host, port, text: "ping" };
  const values = await client(deployment_id).runs.wait(null, "connects", { input });
  return (values as { messages: { content: string }[] }).messages.at(-1)?.content ?? "";
}

test("an agent's TCP socket reaches the listed port and no other one of this machine", async () => {
  const server = net.createServer((socket) => {
    socket.on("data", (data) => socket.end(`echo ${data}`)).on("error", () => undefined);
  });
  let strangers = 0;
  const other = net.createServer((socket) => {
    strangers += 1;
    socket.destroy();
  });
  await once(server.listen(stack.agent_port, "127.0.0.1"), "listening");
  await new Promise<void>((resolve) => other.listen(0, resolve));
  try {
    expect(await connectTo("127.0.0.1", stack.agent_port)).toBe("echo ping");
    const { port } = other.address() as net.AddressInfo;
    for (const host of ["127.0.0.1", "localhost", "127.1", "::1", "0.0.0.0"]) {
      expect(await connectTo(host, port)).toMatch(/^(closed|error)/);
    }
    const own = Number(new URL(stack.base_url).port);
    expect(await connectTo("127.0.0.1", own)).toMatch(/^(closed|error)/);
    expect(strangers).toBe(0);
  } finally {
    server.close();
    other.close();
  }
});

async function withServer<T>(onSocket: (socket: net.Socket) => void, use: () => Promise<T>) {
  const sockets = new Set<net.Socket>();
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket.on("error", () => undefined));
    onSocket(socket);
  });
  await once(server.listen(stack.agent_port, "127.0.0.1"), "listening");
  try {
    return await use();
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

const run = (graph: string, input: object) =>
  client(deployment_id).runs.wait(null, graph, { input: { port: stack.agent_port, ...input } });

test("an agent's socket drains when the server reads", async () => {
  const sockets: net.Socket[] = [];
  let received = 0;
  const onSocket = (socket: net.Socket) => {
    if (sockets.push(socket.pause()) === 1) return;
    const [first] = sockets;
    first?.on("data", ({ length }) => {
      received += length;
    });
    first?.once("end", () => first.end(String(received)));
    first?.resume();
  };
  const size = 1024 * 1024;
  const wrote = await withServer(onSocket, () => run("writes", { size, pieces: 40 }));
  expect(wrote).toMatchObject({ taken: 0, answer: String(40 * size) });
});

test("an agent that writes without waiting is refused", async () => {
  const input = { size: 128 * 1024, pieces: 512 };
  const flooded = await withServer(
    (socket) => socket.pause(),
    () => run("floods", input),
  );
  expect(flooded).toMatchObject({
    refused: expect.any(Number),
    large: expect.stringContaining("262144 bytes wait"),
    view: expect.stringContaining("262144 bytes wait"),
    text: expect.stringContaining("sends bytes"),
    second: expect.stringContaining("in progress"),
  });
  // The kernel buffers some of the 64 MiB at both ends of the connection.
  expect((flooded as { refused: number }).refused).toBeGreaterThan(256);
});

test("an agent has a limited number of sockets, which the end of its run closes", async () => {
  const hoard = (count: number) => run("hoards", { count });
  await withServer(
    () => {},
    async () => {
      const reason = expect.stringContaining("the agent has 128 open sockets");
      expect(await hoard(140)).toMatchObject({ reason });
      const opened = async () => hoard(128);
      await expect.poll(opened).toMatchObject({ failed: 0 });
    },
  );
});
