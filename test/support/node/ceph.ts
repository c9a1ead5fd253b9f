// Ceph's object gateway on loopback: one monitor, one OSD in memory, one gateway; gone when it stops.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { openSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { AwsClient } from "aws4fetch";
import { freePort } from "../../../local/processes/ports.ts";
import type { Keys } from "../s3-info.ts";
import type { StartedS3 } from "./s3-server.ts";

type Ceph = { dir: string; conf: string; children: ChildProcess[] };

const LEASH = join(import.meta.dirname, "../../../local/processes/leash.ts");
const NEEDED = ["radosgw", "radosgw-admin", "ceph", "ceph-mon", "ceph-osd", "ceph-authtool"];
const START_MS = 60_000;
const BUCKET = "exports";
const APP = { access_key_id: "AKIDAPP0000000000001", secret_access_key: "app-secret-of-the-tests" };
const OTHER = {
  access_key_id: "AKIDOTHER00000000002",
  secret_access_key: "other-secret-of-the-tests",
};
const run = promisify(execFile);

export async function startCeph(): Promise<StartedS3> {
  await assertInstalled();
  const dir = await mkdtemp(join(tmpdir(), "ceph-"));
  const ceph: Ceph = { dir, conf: join(dir, "ceph.conf"), children: [] };
  const stop = async () => {
    await Promise.all(ceph.children.reverse().map(end));
    await rm(dir, { recursive: true, force: true });
  };
  try {
    const port = await freePort();
    await startCluster(ceph, port);
    const endpoint = `http://127.0.0.1:${port}`;
    await until(ceph, "radosgw answers", async () => (await fetch(endpoint)).ok);
    await createUser(ceph, "app", APP);
    await createUser(ceph, "other", OTHER);
    await createBucket(endpoint, BUCKET, APP);
    const info = { endpoint, region: "default", bucket: BUCKET, ...APP, other: OTHER };
    const keys = {
      add: (more: Keys) => admin(ceph, ["key", "create", "--uid=app", ...keyFlags(more)]),
      remove: (id: string) => admin(ceph, ["key", "rm", "--uid=app", `--access-key=${id}`]),
    };
    return { info, keys, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

export async function createBucket(endpoint: string, bucket: string, keys: Keys): Promise<void> {
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = keys;
  const signer = new AwsClient({ accessKeyId, secretAccessKey, service: "s3", region: "default" });
  const response = await signer.fetch(`${endpoint}/${bucket}`, { method: "PUT" });
  if (!response.ok) throw new Error(`No bucket could be made: ${await response.text()}`);
}

async function assertInstalled(): Promise<void> {
  for (const command of NEEDED) {
    await run("sh", ["-c", `command -v ${command}`]).catch((cause) => {
      const text = `Ceph is not installed (${command} is missing). Run scripts/install-servers.sh, or name another server: S3_ENDPOINT, S3_REGION, S3_BUCKET, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, S3_OTHER_ACCESS_KEY_ID, S3_OTHER_SECRET_ACCESS_KEY.`;
      throw new Error(text, { cause });
    });
  }
}

async function startCluster(ceph: Ceph, port: number): Promise<void> {
  const { dir, conf } = ceph;
  const [v2, v1] = [await freePort(), await freePort()];
  const fsid = randomUUID();
  const address = `[v2:127.0.0.1:${v2},v1:127.0.0.1:${v1}]`;
  for (const name of ["log", "run", "mon", "osd"]) await mkdir(join(dir, name));
  await writeFile(
    conf,
    configuration(dir, fsid, `[v2:127.0.0.1:${v2}/0,v1:127.0.0.1:${v1}/0]`, port),
  );
  const [keyring, monmap] = [join(dir, "keyring"), join(dir, "monmap")];
  const all = ["--cap", "mon", "allow *"];
  await run("ceph-authtool", [keyring, "-C", "-g", "-n", "mon.", ...all]);
  await run("ceph-authtool", [
    keyring,
    "-g",
    "-n",
    "client.admin",
    ...all,
    "--cap",
    "osd",
    "allow *",
  ]);
  await run("monmaptool", ["--create", "--fsid", fsid, "--addv", "a", address, monmap]);
  await run("ceph-mon", [
    "-c",
    conf,
    "-i",
    "a",
    "--mkfs",
    "--monmap",
    monmap,
    "--keyring",
    keyring,
  ]);
  await start(ceph, "ceph-mon", ["-i", "a"]);
  const osd = randomUUID();
  await until(ceph, "the monitor knows the OSD", async () => {
    await run("ceph", ["-c", conf, "osd", "new", osd], { timeout: 10_000 });
    return true;
  });
  await run("ceph-osd", ["-c", conf, "-i", "0", "--mkfs", "--osd-uuid", osd]);
  await start(ceph, "ceph-osd", ["-i", "0"]);
  // A gateway that starts before the OSD is up waits five seconds more.
  await until(ceph, "the OSD is up", async () =>
    (await readFile(join(dir, "log/osd.0.log"), "utf8")).includes("booting -> active"),
  );
  await start(ceph, "radosgw", ["-n", "client.admin"]);
}

async function start({ dir, conf, children }: Ceph, command: string, args: string[]) {
  const log = openSync(join(dir, "log", `${command}.out`), "a");
  const child = spawn(process.execPath, [LEASH, command, "-c", conf, ...args, "-f"], {
    stdio: ["pipe", log, log],
  });
  children.push(child);
}

function end(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null) return resolve();
    child.once("exit", () => resolve());
    child.stdin?.end();
  });
}

function createUser(ceph: Ceph, name: string, keys: Keys): Promise<void> {
  const user = [`--uid=${name}`, `--display-name=${name}`];
  return admin(ceph, ["user", "create", ...user, ...keyFlags(keys)]);
}

function keyFlags({ access_key_id, secret_access_key }: Keys): string[] {
  return [`--access-key=${access_key_id}`, `--secret=${secret_access_key}`];
}

async function admin({ conf }: Ceph, args: string[]): Promise<void> {
  await run("radosgw-admin", ["-c", conf, "-n", "client.admin", ...args]);
}

async function until(ceph: Ceph, what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + START_MS;
  while (!(await isSo().catch(() => false))) {
    const gone = ceph.children.find(({ exitCode }) => exitCode !== null);
    if (gone || Date.now() > deadline) {
      const why = gone ? `${gone.spawnargs[2]} ended` : `not within ${START_MS} ms`;
      throw new Error(`Ceph did not start: ${what}: ${why}. ${await tail(ceph)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function tail({ dir }: Ceph): Promise<string> {
  const names = ["ceph-mon.out", "ceph-osd.out", "radosgw.out"];
  const texts = names.map(async (name) => {
    const text = await readFile(join(dir, "log", name), "utf8").catch(() => "");
    return `${name}: ${text.trim().slice(-500)}`;
  });
  return (await Promise.all(texts)).join("; ");
}

/** Without authentication between its parts, and without redundancy: it lives as long as a test run. */
function configuration(dir: string, fsid: string, mon_host: string, port: number): string {
  return `
[global]
fsid = ${fsid}
mon_host = ${mon_host}
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
ms_bind_ipv6 = false
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
keyring = ${dir}/keyring
run_dir = ${dir}/run
log_file = ${dir}/log/$name.log
crash_dir = ${dir}/crash
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pgp_num = 1
osd_pool_default_pg_autoscale_mode = off
mon_allow_pool_size_one = true
mon_max_pg_per_osd = 4000
osd_crush_chooseleaf_type = 0
mon_data_avail_crit = 1
mon_data_avail_warn = 2
[mon]
admin_socket = ${dir}/run/$name.asok
mon_data = ${dir}/mon
mon_cluster_log_file = ${dir}/log/cluster.log
paxos_propose_interval = 0.02
paxos_min_wait = 0.01
[osd]
admin_socket = ${dir}/run/$name.asok
osd_data = ${dir}/osd
osd_objectstore = memstore
memstore_device_bytes = 4294967296
memstore_page_set = false
osd_max_object_name_len = 1024
[client]
admin_socket = ${dir}/run/$name.$pid.asok
ms_mon_client_mode = crc
rgw_frontends = beast endpoint=127.0.0.1:${port}
rgw_dns_name = s3.localhost
rgw_run_sync_thread = false
rgw_enable_usage_log = false
rgw_lc_debug_interval = -1
`;
}
