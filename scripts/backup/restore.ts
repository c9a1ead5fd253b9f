import { existsSync } from "node:fs";
import { copyFile, mkdir, open, readdir, rename, rm, stat, statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { claim } from "../../local/folder.ts";
import type { Bucket } from "./bucket.ts";
import { chunkName, inParallel } from "./chunks.ts";
import type { Codec } from "./codec.ts";
import { type FileEntry, listBackups, type Manifest, readManifest } from "./manifest.ts";
import { BackupError } from "./problem.ts";
import { megabytes } from "./run.ts";

export type RestoreOptions = {
  dir: string;
  bucket: Bucket;
  codec: Codec;
  /** Restores the newest backup that is not after this time; none: the newest. */
  at: string | undefined;
  /** Path of secrets.env for a backup without keys. */
  secrets: string | undefined;
  print(line: string): void;
};

const PROGRESS_MS = 5000;

export async function restore(options: RestoreOptions) {
  const { bucket, codec, secrets, print } = options;
  const dir = resolve(options.dir);
  await assertEmpty(dir);
  await assertReplaceable(dir);
  const backup = await findBackup(bucket, options.at);
  const manifest = await readManifest(bucket, codec, backup);
  assertKeys(manifest, secrets);
  const bytes = manifest.files.reduce((sum, { size }) => sum + size, 0);
  const draft = `${dir}.restoring`;
  const release = await openDraft(draft);
  let done = 0;
  const report = () => print(`  ${done} of ${manifest.files.length} files`);
  const timer = setInterval(report, PROGRESS_MS);
  try {
    await assertSpace(draft, bytes);
    for (const folder of manifest.folders) {
      await mkdir(join(draft, folder), { recursive: true, mode: 0o700 });
    }
    await inParallel(manifest.files, async (file) => {
      await writeFileOf(bucket, codec, draft, file);
      done += 1;
    });
    if (secrets !== undefined) await copyFile(secrets, join(draft, "secrets.env"));
    // A start must never find half of a backup. The folder may have come into use: only an empty one is replaced.
    await assertEmpty(dir);
    await release();
    await rename(draft, dir);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  } finally {
    clearInterval(timer);
  }
  const { taken_at, region } = manifest;
  return { taken_at, region, files: manifest.files.length, bytes };
}

/** Empties what a killed restore left. Returns a function that releases the folder. @throws Error beside another restore */
async function openDraft(draft: string): Promise<() => Promise<void>> {
  await mkdir(draft, { recursive: true, mode: 0o700 });
  const release = await claim(draft, "restore");
  for (const name of await readdir(draft)) {
    if (name !== "restore.pid") await rm(join(draft, name), { recursive: true, force: true });
  }
  return release;
}

async function assertEmpty(dir: string): Promise<void> {
  if (!existsSync(dir) || (await readdir(dir)).length === 0) return;
  throw new BackupError(
    `${dir} is not empty. Move it away, or name another folder with HEDDLE_DIR.`,
  );
}

async function assertReplaceable(dir: string): Promise<void> {
  if (!existsSync(dir)) return;
  const [own, above] = await Promise.all([stat(dir), stat(dirname(dir))]);
  if (own.dev === above.dev) return;
  throw new BackupError(
    `${dir} is the root of a file system, which cannot be replaced. Name a folder in it with HEDDLE_DIR.`,
  );
}

async function findBackup(bucket: Bucket, at: string | undefined) {
  const limit = at === undefined ? Number.POSITIVE_INFINITY : Date.parse(at);
  if (Number.isNaN(limit)) {
    throw new BackupError(`--at is "${at}"; give an ISO 8601 time like 2026-11-21T03:00:00Z.`);
  }
  const all = await listBackups(bucket);
  const found = all.findLast(({ taken_at }) => Date.parse(taken_at) <= limit);
  if (found !== undefined) return found;
  const first = all[0]?.taken_at;
  throw new BackupError(
    first === undefined
      ? "--from holds no backup. Correct the bucket or the prefix."
      : `--at is before the first backup, which was taken at ${first}.`,
  );
}

function assertKeys({ has_keys }: Manifest, secrets: string | undefined): void {
  if (has_keys && secrets !== undefined) {
    throw new BackupError("The backup holds its keys: leave --secrets out.");
  }
  if (!has_keys && (secrets === undefined || !existsSync(secrets))) {
    throw new BackupError(
      "The backup holds no keys: give --secrets, the path of a copy of secrets.env of its data folder.",
    );
  }
}

async function assertSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize > bytes) return;
  const free = megabytes(bavail * bsize);
  throw new BackupError(`${folder}: no space left for ${megabytes(bytes)}; ${free} are free.`);
}

async function writeFileOf(
  bucket: Bucket,
  codec: Codec,
  draft: string,
  { path, mode, chunks }: FileEntry,
): Promise<void> {
  const file = await open(join(draft, path), "wx", mode);
  try {
    for (const hash of chunks) {
      const sealed = await bucket.get(chunkName(hash));
      const content = sealed && (await codec.open(sealed).catch(() => null));
      if (content === null || codec.nameOf(content) !== hash) {
        throw new BackupError(
          `${chunkName(hash)} of ${path} is ${sealed ? "damaged" : "missing"} in the bucket. Choose another backup with --at.`,
        );
      }
      await file.write(content);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}
