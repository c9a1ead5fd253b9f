import { createHash } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, renameSync, writeFileSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mapConcurrent } from "../../src/shared/work/chunks.ts";
import type { Checksums } from "./body.ts";

export type StoredObject = {
  key: string;
  size: number;
  etag: string;
  /** Milliseconds since 1970. */
  modified_at: number;
  headers: Record<string, string>;
  checksums: Checksums;
};

export type Bucket = {
  name: string;
  owner: string;
  created_at: number;
  objects: Map<string, StoredObject>;
};

/** Buckets are folders; an object is a file named by the hash of its key, and a JSON file beside it. */
export type Store = { dir: string; drafts: string; buckets: Map<string, Bucket> };

const BUCKET_FILE = ".bucket.json";

export async function openStore(dir: string): Promise<Store> {
  const drafts = join(dir, ".drafts");
  await rm(drafts, { recursive: true, force: true });
  await mkdir(drafts, { recursive: true });
  const buckets = new Map<string, Bucket>();
  for (const name of await readdir(dir)) {
    if (existsSync(join(dir, name, BUCKET_FILE))) buckets.set(name, await readBucket(dir, name));
  }
  return { dir, drafts, buckets };
}

export async function createBucket(store: Store, bucket: Omit<Bucket, "objects">): Promise<void> {
  const folder = join(store.dir, bucket.name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, BUCKET_FILE), JSON.stringify(bucket), { flush: true });
  store.buckets.set(bucket.name, { ...bucket, objects: new Map() });
}

export async function deleteBucket(store: Store, name: string): Promise<void> {
  store.buckets.delete(name);
  await rm(join(store.dir, name), { recursive: true, force: true });
}

/** Files that are read at once: a process may open some tens of thousands. */
const OPEN_FILES = 64;

/** Synchronous from the caller's precondition to the index: of parallel writers one wins. */
export function putObject(store: Store, bucket: Bucket, object: StoredObject, draft: string): void {
  const file = objectFile(store, bucket, object.key);
  flush(draft);
  renameSync(draft, file);
  // A crash or a backup in between must not leave half of it: the next start reads it.
  writeFileSync(`${file}.draft`, JSON.stringify(object), { flush: true });
  renameSync(`${file}.draft`, `${file}.json`);
  bucket.objects.set(object.key, object);
}

/** A file system may store a rename before the content. */
function flush(path: string): void {
  const file = openSync(path, "r");
  fsyncSync(file);
  closeSync(file);
}

export async function deleteObject(store: Store, bucket: Bucket, key: string): Promise<void> {
  if (!bucket.objects.delete(key)) return;
  const file = objectFile(store, bucket, key);
  await rm(file, { force: true });
  await rm(`${file}.json`, { force: true });
}

export function objectFile(store: Store, bucket: Bucket, key: string): string {
  return join(store.dir, bucket.name, createHash("sha256").update(key).digest("hex"));
}

async function readBucket(dir: string, name: string): Promise<Bucket> {
  const folder = join(dir, name);
  const read = async <T>(file: string) =>
    JSON.parse(await readFile(join(folder, file), "utf8")) as T;
  const bucket = await read<Omit<Bucket, "objects">>(BUCKET_FILE);
  const files = (await readdir(folder)).filter(
    (file) => file.endsWith(".json") && file !== BUCKET_FILE,
  );
  const objects = await mapConcurrent(files, OPEN_FILES, (file) => read<StoredObject>(file));
  return { ...bucket, objects: new Map(objects.map((object) => [object.key, object])) };
}
