import { resolve } from "node:path";
import { claim, holderOf, readState, type StackState } from "../../local/folder.ts";
import type { Bucket } from "./bucket.ts";
import { chunkName, createChunks, inParallel } from "./chunks.ts";
import type { Codec } from "./codec.ts";
import { listBackups, type Manifest, readManifest, writeManifest } from "./manifest.ts";
import { BackupError } from "./problem.ts";
import { KEY_FILES } from "./scan.ts";
import { type Snapshot, takeSnapshot } from "./snapshot.ts";

export type BackupOptions = {
  dir: string;
  bucket: Bucket;
  codec: Codec;
  max_pause_ms: number;
  /** Number of backups that stay; all when left out. */
  keep?: number | null;
  print(line: string): void;
};

export type BackupResult = Pick<Snapshot, "taken_at" | "paused_ms"> & {
  files: number;
  bytes: number;
  sent_bytes: number;
  /** Numbers of what `keep` deleted; `null` without `keep`. */
  deleted: { backups: number; chunks: number } | null;
};

const PROGRESS_MS = 5000;

export async function backUp(options: BackupOptions): Promise<BackupResult> {
  const dir = resolve(options.dir);
  const state = await readState(dir);
  if (state === null) {
    throw new BackupError(`${dir} holds no data of Heddle. Name its folder with HEDDLE_DIR.`);
  }
  const { tenant_id, region } = state;
  if (tenant_id === null) throw new BackupError(`${dir} holds no workspace yet.`);
  const release = await claim(dir, "backup");
  const isRunning = (await holderOf(dir)) !== null;
  // A stack that does not run must not start while its files are read.
  const releaseStack = isRunning ? async () => {} : await claim(dir);
  try {
    const made = await writeBackup({ ...options, dir }, isRunning, { tenant_id, region });
    const { bucket, codec, keep = null } = options;
    // Deletes before the claim ends: another backup would rely on chunks that are deleted here.
    const deleted = keep === null ? null : await deleteOld(bucket, codec, keep);
    return { ...made, deleted };
  } finally {
    await releaseStack();
    await release();
  }
}

type Origin = { tenant_id: string; region: StackState["region"] };

async function writeBackup(
  { dir, bucket, codec, max_pause_ms, print }: BackupOptions,
  isRunning: boolean,
  { tenant_id: installation, region }: Origin,
): Promise<Omit<BackupResult, "deleted">> {
  const stored = new Set((await bucket.list("chunks/")).map((name) => name.slice(-64)));
  const last = await lastManifest(bucket, codec, installation);
  const isStored = ({ chunks }: { chunks: string[] }) => chunks.every((hash) => stored.has(hash));
  const known = new Map(last?.files.filter(isStored).map((file) => [file.path, file]));
  const chunks = createChunks(bucket, codec, stored);
  const timer = setInterval(() => {
    print(`  ${chunks.sent.files} files read, ${megabytes(chunks.sent.bytes)} sent`);
  }, PROGRESS_MS);
  try {
    const left_out = codec.isEncrypted ? [] : KEY_FILES;
    const options = { dir, isRunning, left_out, max_pause_ms, print };
    const { taken_at, paused_ms, folders, files } = await takeSnapshot(options, chunks, known);
    const has_keys = codec.isEncrypted;
    const head = { format: 1 as const, installation, region: region ?? null, taken_at, has_keys };
    await writeManifest(bucket, codec, { ...head, folders, files });
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    return { taken_at, paused_ms, files: files.length, bytes, sent_bytes: chunks.sent.bytes };
  } finally {
    clearInterval(timer);
  }
}

/**
 * Returns the newest manifest, or `null` without one. Refuses a prefix that holds backups of another installation,
 * whose chunks `deleteOld` would delete.
 */
async function lastManifest(bucket: Bucket, codec: Codec, installation: string) {
  const last = (await listBackups(bucket)).at(-1);
  if (last === undefined) return null;
  const manifest = await readManifest(bucket, codec, last);
  if (manifest.installation === installation) return manifest;
  throw new BackupError("--to holds backups of another installation. Give another prefix.");
}

/** Deletes all but the newest `keep` backups, then the chunks that no backup refers to. Returns the numbers of both. */
async function deleteOld(bucket: Bucket, codec: Codec, keep: number) {
  const all = await listBackups(bucket);
  const used = new Set<string>();
  for (const backup of all.slice(-keep)) {
    const manifest: Manifest = await readManifest(bucket, codec, backup);
    for (const { chunks } of manifest.files) for (const hash of chunks) used.add(chunkName(hash));
  }
  const old = all.slice(0, -keep);
  // Backups come first: one without its chunks must not be found.
  for (const { name } of old) await bucket.delete(name);
  const unused = (await bucket.list("chunks/")).filter((name) => !used.has(name));
  await inParallel(unused, (name) => bucket.delete(name));
  return { backups: old.length, chunks: unused.length };
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
