// Postgres, MariaDB and Redis on loopback, with TLS, as Debian ships them; gone when the test ends.
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { chmod, copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const LEASH = join(import.meta.dirname, "../../../local/processes/leash.ts");
const run = promisify(execFile);
const START_MS = 60_000;
/** Not in the PATH of users without rights. */
const MARIADB = "/usr/sbin/mariadbd";
const PASSWORD = "secret-of-the-tests";

/** The name that the certificate has, and that agents connect to. */
export const DATABASE_HOST = "localhost";

export type Certificate = { cert: string; key: string };
type Started = { stop(): Promise<void> };

/** @returns why this machine cannot run the databases, `null` when it can */
export function databaseProblem(): string | null {
  const missing = [
    ...(postgresFolder() === null ? ["postgresql"] : []),
    ...(existsSync(MARIADB) ? [] : ["mariadb-server-core"]),
    ...(isInstalled("my_print_defaults") ? [] : ["mariadb-client-core"]),
    ...(isInstalled("redis-server") ? [] : ["redis-server"]),
    ...(isInstalled("openssl") ? [] : ["openssl"]),
  ];
  return missing.length === 0 ? null : `install ${missing.join(", ")}`;
}

/** The folder of the newest version; null for none. */
export function postgresFolder(): string | null {
  const [newest] = globSync("/usr/lib/postgresql/*/bin").sort().reverse();
  return newest !== undefined && existsSync(join(newest, "initdb")) ? newest : null;
}

function isInstalled(program: string): boolean {
  try {
    execFileSync("sh", ["-c", `command -v ${program}`]);
    return true;
  } catch {
    return false;
  }
}

/** A certificate that signs itself. Its key is in `key`. */
export async function createCertificate(dir: string): Promise<Certificate> {
  const [cert, key] = [join(dir, "server.pem"), join(dir, "server.key")];
  const name = ["-subj", `/CN=${DATABASE_HOST}`, "-addext", `subjectAltName=DNS:${DATABASE_HOST}`];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
  const files = ["-keyout", key, "-out", cert];
  await run("openssl", ["req", "-x509", ...curve, "-nodes", "-days", "2", ...name, ...files]);
  return { cert, key };
}

/** Runs a command of Postgres, which refuses to be root. */
export async function asPostgres(command: string[], dir: string): Promise<string[]> {
  if (process.getuid?.() !== 0) return command;
  await run("chown", ["-R", "postgres", dir]);
  return ["runuser", "-u", "postgres", "--", ...command];
}

export const postgresUrl = (port: number) =>
  `postgres://agent:${PASSWORD}@${DATABASE_HOST}:${port}/postgres`;
export const mariadbUrl = (port: number) =>
  `mysql://agent:${PASSWORD}@${DATABASE_HOST}:${port}/agent`;
export const redisUrl = (port: number) => `rediss://:${PASSWORD}@${DATABASE_HOST}:${port}`;

/** Starts Postgres with the tables of `sql`. The URL needs `sslmode` of the test's choice. */
export async function startPostgres(
  port: number,
  certificate: Certificate,
  sql: string,
): Promise<Started & { url: string }> {
  const bin = postgresFolder() ?? "";
  const dir = await mkdtemp(join(tmpdir(), "heddle-postgres-"));
  const [data, password] = [join(dir, "data"), join(dir, "password")];
  const [cert, key] = [join(dir, "server.pem"), join(dir, "server.key")];
  await writeFile(password, PASSWORD);
  await copyFile(certificate.cert, cert);
  await copyFile(certificate.key, key);
  await chmod(key, 0o600);
  const init = ["-D", data, "-U", "agent", "-A", "scram-sha-256", "--no-sync", "-E", "UTF8"];
  const place = ["--locale=C", `--pwfile=${password}`];
  const [program = "", ...args] = await asPostgres([join(bin, "initdb"), ...init, ...place], dir);
  await run(program, args, { cwd: dir });
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: dir,
    fsync: "off",
    ssl: "on",
    ssl_cert_file: cert,
    ssl_key_file: key,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const serve = [join(bin, "postgres"), "-D", data, "-p", `${port}`, ...flags];
  const server = startServer(await asPostgres(serve, dir), dir);
  const psql = (text: string) =>
    run("psql", ["-h", dir, "-p", `${port}`, "-U", "agent", "-d", "postgres", "-c", text], {
      env: { ...process.env, PGPASSWORD: PASSWORD },
    });
  await until(server, "Postgres answers", () => psql(sql));
  return { url: postgresUrl(port), stop: () => stop(server, dir) };
}

/** Starts MariaDB. It accepts connections with TLS and without. */
export async function startMariadb(
  port: number,
  { cert, key }: Certificate,
): Promise<Started & { url: string }> {
  const dir = await mkdtemp(join(tmpdir(), "heddle-mariadb-"));
  const [data, init] = [join(dir, "data"), join(dir, "init.sql")];
  const grant = `GRANT ALL ON *.* TO agent@'%' IDENTIFIED BY '${PASSWORD}';`;
  await writeFile(init, `CREATE DATABASE agent;\n${grant}\n`);
  // MariaDB runs as root only when root is named.
  const user = process.getuid?.() === 0 ? ["--user=root"] : [];
  const options = ["--no-defaults", ...user, `--datadir=${data}`];
  await run("mariadb-install-db", [...options, "--auth-root-authentication-method=normal"]);
  const address = [
    "--skip-name-resolve",
    "--bind-address=127.0.0.1",
    `--port=${port}`,
    `--socket=${join(dir, "socket")}`,
  ];
  const tls = [`--ssl-cert=${cert}`, `--ssl-key=${key}`];
  const server = startServer([MARIADB, ...options, ...address, ...tls, `--init-file=${init}`], dir);
  await until(server, "MariaDB answers", () => greeting(port));
  return { url: mariadbUrl(port), stop: () => stop(server, dir) };
}

/** Connects, and waits for the first bytes of the server. */
function greeting(port: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("error", reject);
    socket.once("data", (bytes) => socket.end(() => resolve(bytes)));
  });
}

/** Starts Redis, which accepts TLS only. */
export async function startRedis(
  port: number,
  { cert, key }: Certificate,
): Promise<Started & { url: string }> {
  const dir = await mkdtemp(join(tmpdir(), "heddle-redis-"));
  const tls = ["--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert];
  const options = ["--tls-auth-clients", "no", "--save", "", "--requirepass", PASSWORD];
  const ports = ["--port", "0", "--tls-port", `${port}`, "--bind", "127.0.0.1"];
  const server = startServer(["redis-server", ...ports, ...tls, ...options], dir);
  const ping = ["-h", DATABASE_HOST, "-p", `${port}`, "--tls", "--cacert", cert, "PING"];
  await until(server, "Redis answers", () => run("redis-cli", ping));
  return { url: redisUrl(port), stop: () => stop(server, dir) };
}

/** FerretDB 1.24 speaks the protocol of MongoDB, which Debian does not have. `FERRETDB` is its program, if there is one. */
export const ferretdb = process.env.FERRETDB;

/** Starts FerretDB, which accepts TLS only. It has no users. */
export async function startFerretdb(
  port: number,
  { cert, key }: Certificate,
): Promise<Started & { url: string }> {
  const dir = await mkdtemp(join(tmpdir(), "heddle-ferretdb-"));
  const tls = [`--listen-tls-cert-file=${cert}`, `--listen-tls-key-file=${key}`];
  const options = ["--handler=sqlite", `--sqlite-url=file:${dir}/`, `--state-dir=${dir}`];
  const address = ["--listen-addr=", `--listen-tls=127.0.0.1:${port}`, "--debug-addr=-"];
  const command = [ferretdb ?? "", ...address, ...tls, ...options, "--telemetry=disable"];
  const server = startServer(command, dir);
  await until(server, "FerretDB answers", () => accepts(port));
  const url = `mongodb://${DATABASE_HOST}:${port}/?tls=true`;
  return { url, stop: () => stop(server, dir) };
}

function accepts(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("error", reject);
    socket.once("connect", () => socket.end(resolve));
  });
}

/** The server ends with this process, however that ends. */
function startServer(command: string[], cwd: string): ChildProcess {
  const stdio = ["pipe", "ignore", "ignore"] as const;
  return spawn(process.execPath, [LEASH, ...command], { cwd, stdio: [...stdio] });
}

async function until(server: ChildProcess, what: string, work: () => Promise<unknown>) {
  const deadline = Date.now() + START_MS;
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (server.exitCode !== null || Date.now() > deadline) {
        server.stdin?.end();
        throw new Error(`${what}: no`, { cause: error });
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

async function stop(server: ChildProcess, dir: string): Promise<void> {
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.stdin?.end();
  if (server.exitCode === null) await ended;
  await rm(dir, { recursive: true, force: true });
}
