import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { overLimit } from "../../local/pool/guard.ts";
import { Pool } from "../../local/pool/pool.ts";
import { isAlive } from "../../local/processes/processes.ts";
import { eventually } from "../support/eventually.ts";

// A busy machine gives a process at nice 5 little time.
vi.setConfig({ testTimeout: 120_000 });

const MEGABYTE = 1024 * 1024;
const LIMITS = {
  label: "agent",
  heap_mb: null,
  rss_bytes: 256 * MEGABYTE,
  data_bytes: 1024 * MEGABYTE,
  computes_ms: 1000,
} as const;
const SCRIPT = `
const kept = [];
let pings = 0;
export default { fetch(request) {
  const { pathname } = new URL(request.url);
  if (pathname === "/") pings++;
  if (pathname === "/pings") return new Response(null, { status: 200 + pings });
  if (pathname === "/loop") for (;;);
  if (pathname === "/keep") for (let n = 0; n < 10; n++) kept.push(new Uint8Array(16 << 20).fill(1));
  if (pathname === "/wait") return scheduler.wait(2000).then(() => new Response("waited"));
  if (pathname === "/grow") for (;;) kept.push(new Uint8Array(16 << 20).fill(1));
  return new Response("pong");
} };`;
const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "host", worker = (
    modules = [(name = "host.js", esModule = ${JSON.stringify(SCRIPT)})],
    compatibilityDate = "2026-11-01",
  ))],
  sockets = [(name = "ping", http = (), service = "host")],
);`;

const before = process.cwd();
let dir: string;
const pools: Pool[] = [];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "heddle-pool-"));
  process.chdir(dir);
  await writeFile("test.capnp", CONFIG);
});

afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.close()));
  process.chdir(before);
  await rm(dir, { recursive: true });
});

function startPool(max_processes: number, starts_ahead = true): Pool {
  const pool = new Pool({ config: "test.capnp", limits: LIMITS, max_processes, starts_ahead });
  pools.push(pool);
  return pool;
}

/** The process's own answer to a path, by its ping socket. */
function call(address: string, path: string): Promise<number> {
  const socketPath = address.replace("unix:", "").replace(".sock", ".ping");
  return new Promise((resolve) => {
    const calling = request({ socketPath, path }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    calling.once("error", () => resolve(0));
    calling.end();
  });
}

test("each key has a process, and keys share processes over the limit of their number", async () => {
  const pool = startPool(2);
  const first = await pool.claim("first");
  expect(await pool.claim("first")).toBe(first);
  const second = await pool.claim("second");
  expect(second).not.toBe(first);
  expect([first, second]).toContain(await pool.claim("third"));
  expect(await pool.reasonOf(first)).toBeNull();
});

test.each([
  ["/loop", /computed for 1 s without a pause/],
  ["/grow", /memory/],
])("a process that does %s is killed, and the next claim starts another", async (path, reason) => {
  const pool = startPool(4);
  const other = await pool.claim("other");
  const address = await pool.claim("bomb");
  expect(await call(address, path)).toBe(0);
  expect(await pool.reasonOf(address)).toMatch(reason);
  const next = await pool.claim("bomb");
  expect(next).not.toBe(address);
  expect(await call(next, "/")).toBe(200);
  expect(await pool.claim("other")).toBe(other);
  expect(await call(other, "/")).toBe(200);
});

test("a process close to its memory limit finishes its calls while a new one serves the next", async () => {
  const pool = startPool(4);
  const address = await pool.claim("large");
  await call(address, "/keep");
  const inFlight = call(address, "/wait");
  const next = await eventually(async () => {
    const claimed = await pool.claim("large");
    expect(claimed).not.toBe(address);
    return claimed;
  });
  expect(await call(next, "/")).toBe(200);
  expect(await inFlight).toBe(200);
  await eventually(async () => expect(await pool.reasonOf(address)).toMatch(/replaced/));
  expect(await pool.claim("large")).toBe(next);
});

test("a process is used again when its work ended well, and killed when it did not", async () => {
  const pool = startPool(2, false);
  const address = await pool.claim("first");
  pool.release("first", { isWell: true });
  expect(await pool.claim("second")).toBe(address);
  pool.release("second", { isWell: false });
  expect(await pool.reasonOf(address)).toBe("The process was released.");
  expect(await pool.claim("third")).not.toBe(address);
});

test("a process that is free again gets a ping, for which it prepares its next work", async () => {
  const pool = startPool(1, false);
  const address = await pool.claim("first");
  const pings = await call(address, "/pings");
  pool.release("first", { isWell: true });
  await eventually(async () => expect(await call(address, "/pings")).toBe(pings + 1));
});

test("a released process serves the claim that follows at once", async () => {
  const pool = startPool(2, false);
  const address = await pool.claim("first");
  pool.release("first", { isWell: true });
  expect(await pool.claim("second")).toBe(address);
  expect(pool.pids()).toHaveLength(1);
});

test("a process that keys share is not killed while one of them works", async () => {
  const pool = startPool(1);
  const address = await pool.claim("first");
  expect(await pool.claim("second")).toBe(address);
  pool.release("first", { isWell: false });
  expect(await call(address, "/")).toBe(200);
});

test("a closed pool leaves no process", async () => {
  const pool = startPool(2);
  await pool.claim("one");
  const pids = pool.pids();
  expect(pids.every(isAlive)).toBe(true);
  await pool.close();
  expect(pids.some(isAlive)).toBe(false);
});

test("a process that answers may compute as long as it likes", () => {
  expect(overLimit({ rss_bytes: 0, cpu_ms: 1e6 }, null, LIMITS)).toBeNull();
});

test.each([
  [257, 0, "used 257 MB of memory: it may use 256 MB"],
  [100, 1001, "computed for 1 s"],
  [256, 1000, null],
])("%i MB and %i ms of computing is judged", (megabytes, cpu_ms, reason) => {
  const why = overLimit({ rss_bytes: megabytes * MEGABYTE, cpu_ms: 5000 + cpu_ms }, 5000, LIMITS);
  if (reason === null) expect(why).toBeNull();
  else expect(why).toContain(reason);
});

test("a process that takes long to start is not idle", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const pool = startPool(1, false);
  const claimed = pool.claim("slow");
  const [pid = 0] = pool.pids();
  process.kill(pid, "SIGSTOP");
  await vi.advanceTimersByTimeAsync(20_000);
  process.kill(pid, "SIGCONT");
  expect(await claimed).toMatch("unix:");
});
