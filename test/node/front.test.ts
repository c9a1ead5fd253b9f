import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Front, startFront } from "../../local/front/front.ts";
import { LIMITS, type Limits } from "../../local/front/limits.ts";
import { freePort } from "../../local/processes/ports.ts";
import { eventually } from "../support/eventually.ts";

type Seen = { method: string; url: string; headers: IncomingMessage["headers"]; body: string };

/** Short deadlines. Those that a test does not reach are as in the product. */
const SHORT = { header_ms: 200, anonymous_body_ms: 200, body_gap_ms: 200, stalled_ms: 200 };
const KEY = { "x-api-key": "key" };

let dir: string;
let socket: string;
let port: number;
let front: Front;
let worker: Server;
const seen: Seen[] = [];
const closed: string[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "heddle-front-"));
  socket = join(dir, "http.sock");
  seen.length = 0;
  closed.length = 0;
});

afterEach(async () => {
  await front.close();
  worker.closeAllConnections();
  worker.close();
  await rm(dir, { recursive: true, force: true });
});

async function start(limits: Partial<Limits> = {}): Promise<void> {
  port = await freePort();
  front = await startFront({ port, socket, limits: { ...LIMITS, ...limits } });
}

const SHORT_TEXT = { "content-length": 5 };

/** Answers of a Worker that reads no body. */
const UNREAD: Record<string, (incoming: IncomingMessage, response: ServerResponse) => void> = {
  "/unread": (incoming) => void incoming.destroy(),
  "/early": (incoming, response) =>
    void response.writeHead(503).end("later", () => incoming.destroy()),
  "/refused": (incoming, response) =>
    void response.writeHead(503, SHORT_TEXT).end("later", () => incoming.destroy()),
  "/half": (incoming, response) =>
    void response.writeHead(503, SHORT_TEXT).write("la", () => incoming.destroy()),
};

/**
 * A Worker that answers `/stream` with one chunk and no end, `/large` with more than buffers take, `/early` before it has
 * read the body, others with "ok".
 */
async function startWorker(): Promise<void> {
  worker = createServer(async (incoming, response) => {
    const { method = "", url = "", headers } = incoming;
    response.once("close", () => closed.push(url));
    const refuse = UNREAD[url];
    if (refuse) return refuse(incoming, response);
    seen.push({ method, url, headers, body: await text(incoming).catch(() => "cut") });
    if (url === "/die") return void worker.closeAllConnections();
    if (url === "/stream") return void response.write("data: 1\n\n");
    if (url === "/large") return void response.end(Buffer.alloc(64 * 1024 * 1024));
    if (url !== "/hang") response.setHeader("x-own", ["a", "b"]).end("ok");
  });
  worker.on("upgrade", (_incoming, client) => {
    client.write(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    );
    client.pipe(client);
  });
  await once(worker.listen(socket), "listening");
}

/** Sends bytes, and resolves with all that comes back until the connection ends. */
async function exchange(bytes: string): Promise<string> {
  const client = connect(port, "127.0.0.1");
  client.on("error", () => undefined);
  client.write(bytes);
  const chunks: Buffer[] = [];
  client.on("data", (chunk) => chunks.push(chunk));
  await once(client, "close");
  return Buffer.concat(chunks).toString();
}

function get(path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, init);
}

test("passes a request and its response unchanged", async () => {
  await start();
  await startWorker();
  const headers = { ...KEY, "CF-Connecting-IP": "203.0.113.9" };
  const answer = await get("/path?a=1", { method: "POST", body: "hello", headers });
  expect([answer.status, await answer.text(), answer.headers.get("x-own")]).toEqual([
    200,
    "ok",
    "a, b",
  ]);
  expect(seen).toMatchObject([
    {
      ...{ method: "POST", url: "/path?a=1", body: "hello" },
      headers: { host: `127.0.0.1:${port}`, "content-length": "5", "x-api-key": "key" },
    },
  ]);
  // A proxy on this machine names the address of its client.
  expect(seen[0]?.headers["cf-connecting-ip"]).toBe("203.0.113.9");
});

test("a client without a proxy has its own address", async () => {
  await start();
  await startWorker();
  for (const headers of [{}, { "CF-Connecting-IP": "" }])
    await (await get("/", { headers })).text();
  const addresses = seen.map(({ headers }) => headers["cf-connecting-ip"]);
  expect(addresses).toEqual(["127.0.0.1", "127.0.0.1"]);
});

test.each([
  ["with its length", 3_000_000, {}],
  ["in chunks", 3_000_000, { "transfer-encoding": "chunked" }],
  ["small and in chunks", 3, { "transfer-encoding": "chunked" }],
])("passes a body %s", async (_case, bytes, headers) => {
  await start();
  await startWorker();
  const sent = request({ port, method: "PUT", path: "/body", headers: { ...KEY, ...headers } });
  if (bytes > 3) sent.setHeader("content-length", bytes);
  if ("transfer-encoding" in headers) sent.removeHeader("content-length");
  sent.end("x".repeat(bytes));
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  expect([answer.statusCode, await text(answer)]).toEqual([200, "ok"]);
  expect(seen[0]?.body).toBe("x".repeat(bytes));
});

test("passes the beginning of a stream at once, and ends it with its reader", async () => {
  await start();
  await startWorker();
  const answer = await get("/stream");
  const reader = answer.body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("data: 1\n\n");
  await reader?.cancel();
  await eventually(() => expect(closed).toEqual(["/stream"]));
});

test("passes the bytes of a WebSocket both ways", async () => {
  await start();
  await startWorker();
  const client = connect(port, "127.0.0.1");
  client.write("GET /s HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
  expect(String((await once(client, "data"))[0])).toMatch(/^HTTP\/1.1 101 .*Upgrade: websocket/s);
  client.write("hello");
  expect(String((await once(client, "data"))[0])).toBe("hello");
  client.destroy();
});

test("requests wait for a Worker that starts", async () => {
  await start();
  const answer = get("/late", { method: "POST", body: "once" });
  await startWorker();
  expect(await (await answer).text()).toBe("ok");
  expect(seen).toMatchObject([{ body: "once" }]);
});

test("an upload waits for a Worker that starts", async () => {
  await start();
  const body = "x".repeat(1_000_000);
  const answer = get("/late", { method: "PUT", body, headers: KEY });
  // Longer than several attempts to connect.
  await new Promise((resolve) => setTimeout(resolve, 300));
  await startWorker();
  expect(await (await answer).text()).toBe("ok");
  expect(seen.map((one) => one.body.length)).toEqual([body.length]);
});

test.each(["/early", "/refused"])(
  "an upload that the Worker refuses before its end has the answer: %s",
  async (path) => {
    await start();
    await startWorker();
    const body = new Uint8Array(30_000_000);
    for (let n = 0; n < 10; n++) {
      const answer = await get(path, { method: "PUT", body, headers: KEY });
      expect([answer.status, await answer.text()]).toEqual([503, "later"]);
    }
  },
);

test.each(["/unread", "/half"])(
  "an upload that the Worker does not read is unavailable: %s",
  async (path) => {
    await start();
    await startWorker();
    const body = new Uint8Array(30_000_000);
    for (let n = 0; n < 10; n++) {
      const answer = await get(path, { method: "PUT", body, headers: KEY });
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
      expect(await answer.text()).toContain("did not take the body");
    }
  },
);

test("a request that the Worker may have read is not sent again", async () => {
  await start();
  await startWorker();
  await expect(get("/die", { method: "POST", body: "once" })).rejects.toThrow("fetch failed");
  expect(seen).toHaveLength(1);
});

test("a Worker that does not start is unavailable", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on("warning", note);
  await start({ restart_ms: 1000 });
  const answer = await get("/late");
  process.off("warning", note);
  // Node.js warns of a response that has a listener for each attempt.
  expect(warnings).toEqual([]);
  expect([answer.status, await answer.json()]).toEqual([
    503,
    { detail: "The service starts. Retry in a moment." },
  ]);
  await startWorker();
});

test.each([
  ["headers", "POST /v1/session HTTP/1.1\r\nHost: x\r\nX-Half: "],
  [
    "a body without credentials",
    "POST /v1/session HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{",
  ],
  ["a body", "POST /runs HTTP/1.1\r\nHost: x\r\nX-Api-Key: key\r\nContent-Length: 1000\r\n\r\n{"],
])("half of %s does not reach the Worker, and ends", async (_case, bytes) => {
  await start(SHORT);
  await startWorker();
  const answer = await exchange(bytes);
  expect(answer).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/);
  expect(answer).toMatch(/"detail":"The (headers|body) did not arrive in time/);
  expect(seen).toEqual([]);
});

test("a connection that sends nothing ends without an answer", async () => {
  await start(SHORT);
  await startWorker();
  expect(await exchange("")).toBe("");
});

test("a connection is kept between requests for longer than headers may take", async () => {
  await start(SHORT);
  await startWorker();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const send = () =>
    new Promise<Socket>((resolve, reject) => {
      const sent = request({ port, path: "/", headers: KEY, agent }, (answer) => {
        answer.resume().once("end", () => resolve(answer.socket));
      });
      sent.once("error", reject).end();
    });
  const first = await send();
  await new Promise((resolve) => setTimeout(resolve, 3 * SHORT.header_ms));
  expect(await send()).toBe(first);
  agent.destroy();
});

test("an upload that stops on its way ends", async () => {
  await start(SHORT);
  await startWorker();
  const head =
    "PUT /upload HTTP/1.1\r\nHost: x\r\nX-Api-Key: key\r\nContent-Length: 1000000\r\n\r\n";
  expect(await exchange(head + "x".repeat(100_000))).toBe("");
  await eventually(() => expect(seen).toMatchObject([{ url: "/upload", body: "cut" }]));
});

test("a client that names Content-Length a header of its connection sends one request", async () => {
  await start();
  await startWorker();
  const second = "GET /second HTTP/1.1\r\nHost: x\r\n\r\n";
  await exchange(
    `GET /first HTTP/1.1\r\nHost: x\r\nX-Api-Key: key\r\nConnection: close, content-length\r\nContent-Length: ${second.length}\r\n\r\n${second}`,
  );
  expect(seen).toMatchObject([{ url: "/first", body: second }]);
});

test("a client that leaves during its upload ends that alone", async () => {
  await start();
  await startWorker();
  const head =
    "PUT /upload HTTP/1.1\r\nHost: x\r\nX-Api-Key: key\r\nContent-Length: 9000000\r\n\r\n";
  const client = connect(port, "127.0.0.1");
  client.write(head + "x".repeat(1_000_000));
  await eventually(() => expect(client.bytesWritten).toBeGreaterThan(1_000_000));
  client.resetAndDestroy();
  await eventually(() => expect(seen).toMatchObject([{ url: "/upload", body: "cut" }]));
  expect((await get("/after", { headers: KEY })).status).toBe(200);
});

test("headers over the limit are refused", async () => {
  await start({ header_bytes: 1024 });
  await startWorker();
  const answer = await exchange(
    `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${"x".repeat(2000)}\r\n\r\n`,
  );
  expect(answer).toMatch(/^HTTP\/1.1 431 .*"detail":"The headers are too large/s);
  expect(seen).toEqual([]);
});

test("a caller has a bounded number of requests at once, and others have their own", async () => {
  await start({ requests_per_caller: 2 });
  await startWorker();
  const hanging = [get("/hang", { headers: KEY }), get("/hang", { headers: KEY })];
  for (const each of hanging) each.catch(() => undefined);
  await eventually(() => expect(seen).toHaveLength(2));
  const refused = await get("/more", { headers: KEY });
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
  expect(await refused.json()).toEqual({ detail: expect.stringContaining("at once") });
  expect((await get("/other", { headers: { "x-api-key": "other" } })).status).toBe(200);
  expect((await get("/anonymous")).status).toBe(200);
});

test("bodies that have not arrived hold a bounded number of bytes together", async () => {
  await start({ all_collected_bytes: 1000 });
  await startWorker();
  const head = "POST /runs HTTP/1.1\r\nHost: x\r\nX-Api-Key: key\r\nContent-Length: 5000\r\n\r\n";
  const first: Socket = connect(port, "127.0.0.1");
  first.write(head + "x".repeat(600));
  await once(first, "connect");
  expect(await exchange(head + "x".repeat(600))).toMatch(/^HTTP\/1.1 503 /);
  first.destroy();
});

test("a response whose reader takes nothing ends", async () => {
  await start(SHORT);
  await startWorker();
  const client = connect(port, "127.0.0.1");
  client.write("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  client.pause();
  await eventually(() => expect(closed).toEqual(["/large"]));
  client.destroy();
});
