import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
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
  /** Name of the file with the content. Objects of older versions have none: theirs is the hash of the key. */
  file?: string;
};

export type Bucket = {
  name: string;
  owner: string;
  created_at: number;
  objects: Map<string, StoredObject>;
};

/**
 * Buckets are folders. An object is a JSON file, which is named by the hash of the key, and a file with the content.
 * Each write makes a new content file. A crash or a reader in the middle of a write finds the old object or the new
 * one.
 */
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

/** Files that are read at once, far below the limit of open files of a process. */
const OPEN_FILES = 64;

/**
 * Stores a draft as an object. Synchronous, so that no other write comes between the caller's precondition and this.
 */
export function putObject(store: Store, bucket: Bucket, object: StoredObject, draft: string): void {
  const former = bucket.objects.get(object.key);
  const hash = hashOf(object.key);
  const stored = { ...object, file: `${hash}.${randomBytes(8).toString("hex")}` };
  flush(draft);
  renameSync(draft, contentFile(store, bucket, stored));
  const path = join(store.dir, bucket.name, hash);
  writeFileSync(`${path}.draft`, JSON.stringify(stored), { flush: true });
  renameSync(`${path}.draft`, `${path}.json`);
  bucket.objects.set(object.key, stored);
  if (former) rmSync(contentFile(store, bucket, former), { force: true });
}

/** A file system may store a rename before the content. */
function flush(path: string): void {
  const file = openSync(path, "r");
  fsyncSync(file);
  closeSync(file);
}

/** Synchronous: a write that follows must not lose its files. */
export function deleteObject(store: Store, bucket: Bucket, key: string): void {
  const object = bucket.objects.get(key);
  if (!object) return;
  bucket.objects.delete(key);
  rmSync(join(store.dir, bucket.name, `${hashOf(key)}.json`), { force: true });
  rmSync(contentFile(store, bucket, object), { force: true });
}

/** Returns the path of the content. The file never changes, and is removed when the object is replaced. */
export function contentFile(
  store: Store,
  bucket: Pick<Bucket, "name">,
  { key, file = hashOf(key) }: StoredObject,
): string {
  return join(store.dir, bucket.name, file);
}

function hashOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

async function readBucket(dir: string, name: string): Promise<Bucket> {
  const folder = join(dir, name);
  const read = async <T>(file: string) =>
    JSON.parse(await readFile(join(folder, file), "utf8")) as T;
  const bucket = await read<Omit<Bucket, "objects">>(BUCKET_FILE);
  const files = (await readdir(folder)).filter((file) => file !== BUCKET_FILE);
  const heads = files.filter((file) => file.endsWith(".json"));
  const objects = await mapConcurrent(heads, OPEN_FILES, (file) => read<StoredObject>(file));
  const known = new Set([...heads, ...objects.map(({ key, file }) => file ?? hashOf(key))]);
  const unknown = files.filter((file) => !known.has(file));
  await mapConcurrent(unknown, OPEN_FILES, (file) => rm(join(folder, file), { force: true }));
  return { ...bucket, objects: new Map(objects.map((object) => [object.key, object])) };
}
