// Drivers of databases in an agent, against Postgres, MariaDB and Redis with TLS: a certificate is checked, and each way to TLS works.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { createServer as createSecureServer } from "node:tls";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { databaseTest } from "../support/node/database-test.ts";
import {
  type Certificate,
  databaseProblem,
  mariadbUrl,
  postgresUrl,
  redisUrl,
  startMariadb,
  startPostgres,
  startRedis,
} from "../support/node/databases.ts";
import { client } from "./support/clients.ts";
import { deploy } from "./support/deployments.ts";
import type { Databases } from "./support/global-setup.ts";
import { aliveAgain } from "./support/http.ts";
import { killAgents, killWorker, stack } from "./support/stack.ts";

const AGENT = `
import net from "node:net";
import tls from "node:tls";
import { connect } from "cloudflare:sockets";
import { Redis } from "ioredis";
import mysql from "mysql2/promise";
import pg from "pg";
import postgres from "postgres";

const calls: Record<string, (input: { url: string; port: number }) => Promise<unknown>> = {
  async pg({ url }) {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query(SQL, ["a"]);
    await client.end();
    return rows[0];
  },
  async postgres({ url }) {
    const sql = postgres(url, { max: 1, ssl: url.includes("sslmode=disable") ? false : "require" });
    const [row] = await sql.unsafe(SQL, ["a"]);
    await sql.end();
    return { ...row };
  },
  async mysql2({ url }) {
    const ssl = url.includes("ssl=off") ? undefined : {};
    const connection = await mysql.createConnection({ uri: url.split("?")[0], ssl, disableEval: true });
    const [[row]] = await connection.execute("SELECT ? AS text, 2 AS number", ["ä"]);
    const [[status]] = await connection.query("SHOW STATUS LIKE 'Ssl_version'");
    const error = await connection.query("SELECT nothing").catch(({ code }) => code);
    await connection.end();
    return { ...row, ssl: status.Value, error };
  },
  async ioredis({ url }) {
    const redis = new Redis(url, { maxRetriesPerRequest: 0, retryStrategy: () => null });
    const failed = new Promise<never>((_, reject) => redis.once("error", reject));
    const work = async () => {
      await redis.set("key", "x".repeat(3_000_000));
      return (await redis.get("key"))?.length;
    };
    const length = await Promise.race([failed, work()]);
    await redis.quit();
    return length;
  },
  async sockets({ url, port }) {
    const socket = connect({ hostname: "localhost", port }, { secureTransport: "on" });
    const writer = socket.writable.getWriter();
    await writer.write(new TextEncoder().encode("AUTH " + new URL(url).password + "\\r\\nPING\\r\\n"));
    const reader = socket.readable.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("PONG")) text += (await reader.read()).value;
    await socket.close();
    return text;
  },
  async pinned({ port }) {
    const checkServerIdentity = (_: string, { fingerprint }: tls.PeerCertificate) =>
      fingerprint === "AA:BB" ? undefined : new Error("another certificate");
    const socket = tls.connect({ host: "localhost", port, checkServerIdentity });
    await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
  },
  // As drivers do that start TLS on a connection: mysql2, nodemailer.
  async upgrade({ port }) {
    const plain = net.connect(port, "localhost");
    await new Promise((resolve, reject) => plain.once("connect", resolve).once("error", reject));
    plain.write(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]));
    const answer = await new Promise((resolve) => plain.once("data", resolve));
    const secure = tls.connect({ socket: plain, servername: "localhost" });
    await new Promise((resolve, reject) => secure.once("secureConnect", resolve).once("error", reject));
    secure.write(Buffer.from([0, 0, 0, 8, 0, 0, 0, 0]));
    const refused = await new Promise((resolve) => secure.once("data", resolve).once("end", () => resolve("end")));
    secure.destroy();
    return [String(answer), secure.encrypted, String(refused).includes("unsupported")];
  },
};
const SQL = "SELECT $1::text AS text, 2 AS number, ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";

export async function databases({ call, url, port }: { call: string; url: string; port: number }) {
  try {
    return { value: await calls[call]?.({ url, port }) };
  } catch (error) {
    return { error: String(error) };
  }
}
`;

/** Pools as agents have them: for all runs, made when the module loads. */
const POOLS = `
import { once } from "node:events";
import tls from "node:tls";
import { Redis } from "ioredis";
import mysql from "mysql2/promise";
import pg from "pg";
import postgres from "postgres";

const { POSTGRES_URL, MYSQL_URL, REDIS_URL } = process.env;
const pool = new pg.Pool({ connectionString: POSTGRES_URL, max: 2 });
const single = new pg.Pool({ connectionString: POSTGRES_URL, max: 1 });
const sql = postgres(POSTGRES_URL, { max: 2, ssl: "require" });
const connections = mysql.createPool({ uri: MYSQL_URL, ssl: {}, connectionLimit: 2, disableEval: true });
const redis = new Redis(REDIS_URL, { retryStrategy: () => 1000 });
redis.on("error", () => {});

const BACKEND = "SELECT pg_backend_pid() AS id";

const queries = {
  pg: async () => (await pool.query(BACKEND)).rows[0].id,
  postgres: async () => (await sql.unsafe(BACKEND))[0].id,
  mysql2: async () => (await connections.query("SELECT connection_id() AS id"))[0][0].id,
  ioredis: async () => redis.client("ID"),
};

/** Queries several times, so that runs which begin together use each other's connections. */
export async function pools({ driver }) {
  const ids = new Set();
  for (let count = 0; count < 5; count++) ids.add(await queries[driver]());
  return { connections: [...ids] };
}

const signals = {};
const signal = (name) => (signals[name] ??= Promise.withResolvers());

export async function lender() {
  await single.query(BACKEND);
  signal("opened").resolve();
  await signal("borrowed").promise;
}

/** Has a transaction on the lender's connection, before the lender is over and after it. */
export async function borrower() {
  await signal("opened").promise;
  const client = await single.connect();
  await client.query("BEGIN");
  const { rows: [before] } = await client.query(BACKEND);
  signal("borrowed").resolve();
  await signal("lent").promise;
  const { rows: [after] } = await client.query(BACKEND);
  await client.query("COMMIT");
  client.release();
  return { before: before.id, after: after.id };
}

export async function go() {
  signal("lent").resolve();
}

const secure = (port) => tls.connect({ host: "127.0.0.1", port, servername: "localhost" });
let first;

export async function opener({ port }) {
  first = secure(port);
  await once(first, "secureConnect");
  signal("first").resolve();
  await signal("used").promise;
}

/** Has a socket of the opener answer after the opener is over. Its listener opens another one, and ends it. */
export async function user({ port }) {
  await signal("first").promise;
  signal("used").resolve();
  await signal("over").promise;
  const second = Promise.withResolvers();
  first.once("data", () => {
    const socket = secure(port);
    socket.once("secureConnect", () => second.resolve(socket));
    first.destroy();
  });
  first.write("x");
  (await second.promise).destroy();
  return { connected: true };
}

export async function over() {
  signal("over").resolve();
}

let attempts = 0;

/** The first attempt waits for its databases, and has a timer that connects again. */
export async function* interrupted() {
  attempts += 1;
  const ids = [];
  for (const query of Object.values(queries)) ids.push(await query());
  redis.disconnect(true);
  yield { attempts, connections: ids.length };
  if (attempts > 1) return;
  await Promise.all([
    pool.query("SELECT pg_sleep(600)"),
    sql.unsafe("SELECT pg_sleep(600)"),
    connections.query("SELECT SLEEP(600)"),
  ]);
}
`;

const GRAPHS = {
  databases: "./agent.ts:databases",
  pools: "./pools.ts:pools",
  lender: "./pools.ts:lender",
  borrower: "./pools.ts:borrower",
  go: "./pools.ts:go",
  opener: "./pools.ts:opener",
  user: "./pools.ts:user",
  over: "./pools.ts:over",
  interrupted: "./pools.ts:interrupted",
};

const PACKAGES = { mysql2: "3.24.6", pg: "8.23.1", postgres: "3.4.9", ioredis: "6.0.0" };

let id: string;
let postgres: Awaited<ReturnType<typeof startPostgres>>;
let mariadb: Awaited<ReturnType<typeof startMariadb>>;
let redis: Awaited<ReturnType<typeof startRedis>>;

beforeAll(async () => {
  const { databases } = stack;
  if (databases === null) {
    if (process.env.CI) throw new Error(`Databases are required in CI: ${databaseProblem()}`);
    return;
  }
  const [deployed, ...started] = await Promise.all([
    deploy(
      "databases",
      {
        "langgraph.json": JSON.stringify({ graphs: GRAPHS }),
        "package.json": JSON.stringify({ dependencies: PACKAGES }),
        "agent.ts": AGENT,
        "pools.ts": POOLS,
      },
      { secrets: urls(databases) },
    ),
    startPostgres(databases.postgres_port, databases.certificate, "SELECT 1"),
    startMariadb(databases.mariadb_port, databases.certificate),
    startRedis(databases.redis_port, databases.certificate),
  ]);
  ({ id } = deployed);
  [postgres, mariadb, redis] = started;
  await killAgents();
});

/** Secrets of the deployment, for its pools. */
function urls({ postgres_port, mariadb_port, redis_port }: Databases) {
  return [
    { name: "POSTGRES_URL", value: `${postgresUrl(postgres_port)}?sslmode=require` },
    { name: "MYSQL_URL", value: mariadbUrl(mariadb_port) },
    { name: "REDIS_URL", value: redisUrl(redis_port) },
  ];
}

afterAll(() => Promise.all([postgres?.stop(), mariadb?.stop(), redis?.stop()]));

async function call(name: string, url: string, port = 0): Promise<unknown> {
  const input = { call: name, url, port };
  return client(id).runs.wait(null, "databases", { input });
}

databaseTest.each([
  ["pg", "disable", false],
  ["pg", "require", true],
  ["postgres", "disable", false],
  ["postgres", "require", true],
])("%s queries Postgres with sslmode=%s", async (driver, mode, ssl) => {
  const value = { text: "a", number: 2, ssl };
  expect(await call(driver, `${postgres.url}?sslmode=${mode}`)).toMatchObject({ value });
});

databaseTest.each([
  ["off", ""],
  ["on", "TLSv1.3"],
])("mysql2 queries MariaDB with ssl=%s", async (mode, ssl) => {
  const value = { text: "ä", number: 2, ssl, error: "ER_BAD_FIELD_ERROR" };
  expect(await call("mysql2", `${mariadb.url}?ssl=${mode}`)).toMatchObject({ value });
});

databaseTest("ioredis writes and reads 3 MB over TLS", async () => {
  expect(await call("ioredis", redis.url)).toMatchObject({ value: 3_000_000 });
});

databaseTest("a socket of cloudflare:sockets opens TLS", async () => {
  const { redis_port = 0 } = stack.databases ?? {};
  expect(await call("sockets", redis.url, redis_port)).toMatchObject({ value: "+OK\r\n+PONG\r\n" });
});

databaseTest("a socket of node:net upgrades to TLS", async () => {
  const { postgres_port = 0 } = stack.databases ?? {};
  expect(await call("upgrade", "", postgres_port)).toMatchObject({ value: ["S", true, true] });
});

databaseTest("a check of the certificate's fields is refused, not left out", async () => {
  const { redis_port = 0 } = stack.databases ?? {};
  expect(await call("pinned", redis.url, redis_port)).toMatchObject({
    error: expect.stringContaining("checkServerIdentity option is not implemented"),
  });
});

databaseTest("a certificate for another name is refused", async () => {
  const url = redis.url.replace("localhost", "127.0.0.1");
  expect(await call("ioredis", url)).toMatchObject({
    error: expect.stringMatching(/cannot connect/),
  });
});

databaseTest("a refused address is named in the error", async () => {
  const url = redis.url.replace(/:\d+$/, ":1");
  expect(await call("ioredis", url)).toMatchObject({
    error: expect.stringContaining("Heddle refused this connection"),
  });
});

async function runGraph<Values>(graph: string, input = {}): Promise<Values> {
  return (await client(id).runs.wait(null, graph, { input })) as Values;
}

databaseTest.each(["pg", "postgres", "mysql2", "ioredis"])(
  "a pool of %s in a module serves run after run, and runs at once",
  async (driver) => {
    const run = () => runGraph<{ connections: number[] }>("pools", { driver });
    const one = { connections: [expect.any(Number)] };
    expect([await run(), await run(), await run()]).toMatchObject([one, one, one]);
    const many = await Promise.all(Array.from({ length: 8 }, run));
    const ids = many.flatMap(({ connections }) => connections);
    expect(ids.length).toBeGreaterThanOrEqual(8);
    expect(new Set(ids).size).toBeLessThan(8);
  },
);

databaseTest("a transaction outlives the run that opened its connection", async () => {
  const borrower = runGraph<{ before: number; after: number }>("borrower");
  await runGraph("lender");
  await runGraph("go");
  const { before, after } = await borrower;
  expect(after).toBe(before);
});

/** Longer than a call whose work and sockets are over lives. */
const LATE_MS = 2000;

/** Starts a server with TLS that sends what it receives. TLS of connections after the first waits for `LATE_MS`. */
async function startEcho(port: number, { cert, key }: Certificate) {
  const secure = createSecureServer({ cert: await readFile(cert), key: await readFile(key) });
  secure.on("secureConnection", (socket) => socket.on("error", () => {}).pipe(socket));
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    setTimeout(() => secure.emit("connection", socket), connections === 1 ? 0 : LATE_MS);
  });
  await once(server.listen(port, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
}

databaseTest("a socket opened in the call of an ended run serves another run", async () => {
  const { agent_port: port, databases } = stack;
  if (databases === null) throw new Error("Databases are required.");
  await startEcho(port, databases.certificate);
  const user = runGraph("user", { port });
  await runGraph("opener", { port });
  await runGraph("over");
  expect(await user).toMatchObject({ connected: true });
});

databaseTest("a second attempt has new connections for those that the first has lost", async () => {
  const { threads, runs } = client(id);
  const { thread_id } = await threads.create();
  const { run_id } = await runs.create(thread_id, "interrupted", { streamMode: "values" });
  for await (const { data } of runs.joinStream(thread_id, run_id)) {
    if ((data as { attempts?: number }).attempts === 1) break;
  }
  await killWorker();
  await aliveAgain();
  expect(await runs.join(thread_id, run_id)).toEqual({ attempts: 2, connections: 4 });
});
