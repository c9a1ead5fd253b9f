// Drivers of databases in an agent, against Postgres, MariaDB and Redis with TLS: a certificate is checked, and each way to TLS works.
import { afterAll, beforeAll, expect } from "vitest";
import { databaseTest } from "../support/node/database-test.ts";
import {
  databaseProblem,
  startMariadb,
  startPostgres,
  startRedis,
} from "../support/node/databases.ts";
import { client } from "./support/clients.ts";
import { deploy } from "./support/deployments.ts";
import { stack } from "./support/stack.ts";

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
    deploy("databases", {
      "langgraph.json": JSON.stringify({ graphs: { databases: "./agent.ts:databases" } }),
      "package.json": JSON.stringify({ dependencies: PACKAGES }),
      "agent.ts": AGENT,
    }),
    startPostgres(databases.postgres_port, databases.certificate, "SELECT 1"),
    startMariadb(databases.mariadb_port, databases.certificate),
    startRedis(databases.redis_port, databases.certificate),
  ]);
  ({ id } = deployed);
  [postgres, mariadb, redis] = started;
});

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
