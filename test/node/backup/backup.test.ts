// Backups of a folder whose service does not run, against the S3 server of the local stack.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { identify } from "../../../local/processes/processes.ts";
import { type Bucket, openBucket } from "../../../scripts/backup/bucket.ts";
import { type Codec, createCodec, readKey } from "../../../scripts/backup/codec.ts";
import { copyPieces } from "../../../scripts/backup/copy.ts";
import { readLocation } from "../../../scripts/backup/location.ts";
import { listBackups } from "../../../scripts/backup/manifest.ts";
import { explain } from "../../../scripts/backup/problem.ts";
import { type RestoreOptions, restore } from "../../../scripts/backup/restore.ts";
import { backUp } from "../../../scripts/backup/run.ts";
import { scan } from "../../../scripts/backup/scan.ts";
import { type StartedS3, startLocalS3 } from "../../support/node/s3-server.ts";

const CHUNK_BYTES = 4 * 1024 ** 2;
/** Random bytes, which compression does not shrink. */
const DATABASE = "state/v3/d1/main.sqlite";

let s3: StartedS3;
let home: string;
let dir: string;
let bucket: Bucket;
let prefixes = 0;
const codec = createCodec(randomBytes(32));
beforeAll(async () => {
  s3 = await startLocalS3();
  home = await mkdtemp(join(tmpdir(), "heddle-backup-"));
});
afterAll(async () => {
  await s3.stop();
  await rm(home, { recursive: true, force: true });
});

beforeEach(async () => {
  prefixes += 1;
  dir = join(home, `data-${prefixes}`);
  await mkdir(join(dir, "state/v3/d1"), { recursive: true });
  await mkdir(join(dir, "git/empty.git/refs/heads"), { recursive: true });
  await writeFile(join(dir, "kept.json"), JSON.stringify({ tenant_id: "first", region: "eu" }));
  await writeFile(join(dir, "secrets.env"), 'ENCRYPTION_KEYS="k:1"\n', { mode: 0o600 });
  await writeFile(join(dir, "worker.log"), "not data");
  await writeFile(join(dir, DATABASE), randomBytes(3 * CHUNK_BYTES + 5));
  await writeFile(join(dir, `${DATABASE}-wal`), "log");
  await writeFile(join(dir, `${DATABASE}-shm`), "index of the log");
  bucket = bucketAt(`s3://exports/node-${prefixes}`);
});

function bucketAt(
  address: string,
  keys: { access_key_id: string; secret_access_key: string } = s3.info,
) {
  const env = {
    AWS_ACCESS_KEY_ID: keys.access_key_id,
    AWS_SECRET_ACCESS_KEY: keys.secret_access_key,
    AWS_REGION: s3.info.region,
  };
  return openBucket(readLocation("--to", address, s3.info.endpoint, env));
}

const backUpWith = (codec: Codec, to = bucket, keep: number | null = null) =>
  backUp({ dir, bucket: to, codec, max_pause_ms: 2000, keep, print: () => {} });
const restoreTo = (folder: string, more: Partial<RestoreOptions> = {}) =>
  restore({
    ...{ dir: join(home, folder), bucket, codec, at: undefined, secrets: undefined },
    ...more,
    print: () => {},
  });
const read = (folder: string, path: string) => readFile(join(folder, path));
const explained = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => null,
    (error: unknown) => error,
  );
  return error === null ? "no error" : explain(error);
};

test("a restored folder has the files, empty folders and modes of the original", async () => {
  await backUpWith(codec);
  await restoreTo("same");
  const target = join(home, "same");
  for (const path of [DATABASE, `${DATABASE}-wal`, "kept.json", "secrets.env"]) {
    expect((await read(target, path)).equals(await read(dir, path)), path).toBe(true);
  }
  expect(await readdir(join(target, "git/empty.git/refs"))).toEqual(["heads"]);
  expect((await stat(join(target, "secrets.env"))).mode & 0o777).toBe(0o600);
  expect(await readdir(target)).not.toContain("worker.log");
  expect(await readdir(join(target, "state/v3/d1"))).not.toContain("main.sqlite-shm");
});

test("a second backup sends the chunks that have changed", async () => {
  await backUpWith(codec);
  const chunks = await bucket.list("chunks/");
  const file = await open(join(dir, DATABASE), "r+");
  await file.write(randomBytes(100), 0, 100, CHUNK_BYTES + 7);
  await file.close();
  const second = await backUpWith(codec);
  const added = (await bucket.list("chunks/")).filter((name) => !chunks.includes(name));
  expect(added).toHaveLength(1);
  expect(second.sent_bytes).toBeLessThan(2 * CHUNK_BYTES);
});

test("retention deletes old backups with the chunks that only they have", async () => {
  const first = await backUpWith(codec);
  await writeFile(join(dir, DATABASE), randomBytes(10));
  const second = await backUpWith(codec);
  await writeFile(join(dir, `${DATABASE}-wal`), "more log");
  const third = await backUpWith(codec, bucket, 2);
  expect(third.deleted).toEqual({ backups: 1, chunks: 4 });
  expect((await listBackups(bucket)).map(({ taken_at }) => taken_at)).not.toContain(first.taken_at);
  await restoreTo("second", { at: second.taken_at });
  expect((await read(join(home, "second"), `${DATABASE}-wal`)).toString()).toBe("log");
  await restoreTo("third");
  expect((await read(join(home, "third"), `${DATABASE}-wal`)).toString()).toBe("more log");
  expect(await explained(restoreTo("none", { at: first.taken_at }))).toContain(
    "--at is before the first backup",
  );
});

test("chunks that another program deleted are sent again", async () => {
  await backUpWith(codec);
  const [lost = ""] = await bucket.list("chunks/");
  await bucket.delete(lost);
  expect(await explained(restoreTo("damaged"))).toContain("is missing in the bucket");
  expect(await readdir(home)).not.toContain("damaged");
  await backUpWith(codec);
  await restoreTo("repaired");
});

test("a restore leaves the files of another one to the same folder", async () => {
  await backUpWith(codec);
  const draft = join(home, "twice.restoring");
  const other = spawn(process.execPath, ["test/support/node/claim.ts", draft, "restore"]);
  try {
    await mkdir(draft);
    await writeFile(join(draft, "kept.json"), "of the other");
    const lines = createInterface({ input: other.stdout });
    await once(lines, "line");
    other.stdin.write("claim\n");
    expect((await once(lines, "line"))[0]).toBe("held");
    expect(await explained(restoreTo("twice"))).toMatch(/^Process \d+ already restores a backup/);
    expect((await readFile(join(draft, "kept.json"))).toString()).toBe("of the other");
  } finally {
    other.kill("SIGKILL");
  }
  await once(other, "exit");
  await restoreTo("twice");
  expect((await readdir(join(home, "twice"))).sort()).toEqual([
    "git",
    "kept.json",
    "secrets.env",
    "state",
  ]);
});

test("a copy in pieces is whole, and ends at its deadline", async () => {
  const [from, to] = [join(dir, DATABASE), join(home, "copy")];
  expect(copyPieces(Number.POSITIVE_INFINITY, from, to)).toBe(true);
  expect((await readFile(to)).equals(await readFile(from))).toBe(true);
  expect(copyPieces(performance.now() - 1, from, to)).toBe(false);
  expect((await stat(to)).size).toBe(0);
});

test("without BACKUP_KEY the keys are left out, and a restore needs them", async () => {
  const plain = createCodec(null);
  await backUpWith(plain);
  expect(await explained(restoreTo("keyless", { codec: plain }))).toContain("give --secrets");
  const secrets = join(dir, "secrets.env");
  expect((await restoreTo("keyless", { codec: plain, secrets })).region).toBe("eu");
  expect((await readdir(join(home, "keyless"))).sort()).toEqual(["git", "secrets.env", "state"]);
});

test("an encrypted backup shows neither content nor another key's owner anything", async () => {
  await writeFile(join(dir, DATABASE), "a sentence that must stay secret".repeat(100));
  await backUpWith(codec);
  for (const name of [...(await bucket.list("chunks/")), ...(await bucket.list("backups/"))]) {
    const bytes = Buffer.from((await bucket.get(name)) ?? []);
    expect(bytes.includes("secret")).toBe(false);
    expect(() => gunzipSync(bytes)).toThrow();
  }
  const other = createCodec(randomBytes(32));
  expect(await explained(restoreTo("other", { codec: other }))).toContain("BACKUP_KEY is not");
  expect(await explained(restoreTo("other", { codec: createCodec(null) }))).toContain(
    "is encrypted: set BACKUP_KEY",
  );
});

test("a folder with files is not restored to", async () => {
  await backUpWith(codec);
  await mkdir(join(home, "used"));
  await writeFile(join(home, "used/file"), "mine");
  expect(await explained(restoreTo("used"))).toMatch(/used is not empty\. Move it away/);
  expect(await readdir(join(home, "used"))).toEqual(["file"]);
});

test("a folder that comes into use during a restore keeps its files", async () => {
  await backUpWith(codec);
  const taken = join(home, "taken");
  const taking: Bucket = {
    ...bucket,
    async get(name) {
      await mkdir(taken, { recursive: true });
      await writeFile(join(taken, "file"), "mine");
      return bucket.get(name);
    },
  };
  expect(await explained(restoreTo("taken", { bucket: taking }))).toContain("taken is not empty");
  expect(await readdir(taken)).toEqual(["file"]);
});

test("a prefix with backups of another installation is refused", async () => {
  await backUpWith(codec);
  await writeFile(join(dir, "kept.json"), JSON.stringify({ tenant_id: "second" }));
  expect(await explained(backUpWith(codec))).toContain("backups of another installation");
  expect(await listBackups(bucket)).toHaveLength(1);
});

test("a second backup of the same folder is refused while the first runs", async () => {
  const claim = join(dir, "backup.pid");
  await writeFile(claim, (await identify(process.ppid)) ?? "");
  expect(await explained(backUpWith(codec))).toContain("already makes a backup");
  expect(await listBackups(bucket)).toEqual([]);
  await writeFile(claim, "1 claim of a process that has ended");
  expect(await explained(backUpWith(codec))).toBe("no error");
});

test.each([
  ["s3://missing-bucket/x", undefined, "Create the bucket or correct its name."],
  ["s3://exports/x", "other", "The key needs s3:ListBucket"],
  ["s3://exports/x", "unknown", "Correct AWS_ACCESS_KEY_ID"],
] as const)("%s with the key %s fails with a remedy", async (address, user, remedy) => {
  const keys = {
    other: s3.info.other,
    unknown: { access_key_id: "UNKNOWN", secret_access_key: "unknown" },
  };
  const to = bucketAt(address, user && keys[user]);
  expect(await explained(backUpWith(codec, to))).toContain(remedy);
  expect(await readdir(dir)).not.toContain("backup.pid");
});

test.each([
  [() => readLocation("--to", "http://bucket", undefined, {}), "--to must be s3://bucket/prefix"],
  [() => readLocation("--to", "s3://bucket/a/../b", undefined, {}), 'the prefix "a/../b"'],
  [() => readLocation("--to", "s3://bucket", "s3.test", {}), '--endpoint is "s3.test"'],
  [() => readLocation("--to", "s3://bucket", undefined, {}), "Set AWS_ACCESS_KEY_ID"],
  [() => readKey({ BACKUP_KEY: "short" }), "BACKUP_KEY must be 32 bytes in base64"],
])("wrong settings name their field: %#", (work, message) => {
  expect(work).toThrow(message);
});

test("a backup leaves out the file that names the process of the stack", async () => {
  await writeFile(join(dir, "root.json"), "{}");
  expect(scan(dir, []).files.has("root.json")).toBe(false);
});

test("a scan that takes longer than the pause ends at its deadline", () => {
  expect(() => scan(dir, [], performance.now() - 1)).toThrow("longer --max-pause");
  expect(scan(dir, ["state"]).files.has(DATABASE)).toBe(false);
});
