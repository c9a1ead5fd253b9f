// Objects of the local S3 server after a crash in the middle of a write, and those of older versions.
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type Bucket,
  contentFile,
  createBucket,
  deleteObject,
  openStore,
  putObject,
  type Store,
} from "../../local/s3/store.ts";

const KEY = "folder/key";
let dir: string;
let store: Store;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "heddle-s3-store-"));
  store = await openStore(dir);
  await createBucket(store, { name: "one", owner: "me", created_at: 0 });
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const bucketOf = (of: Store): Bucket => of.buckets.get("one") as Bucket;

async function put(text: string): Promise<void> {
  const draft = join(store.drafts, text);
  await writeFile(draft, text);
  const object = { key: KEY, size: text.length, etag: text, modified_at: 0 };
  putObject(store, bucketOf(store), { ...object, headers: {}, checksums: {} }, draft);
}

async function contentOf(of: Store): Promise<string | null> {
  const object = bucketOf(of).objects.get(KEY);
  if (!object) return null;
  const text = await readFile(contentFile(of, bucketOf(of), object), "utf8");
  expect(text).toBe(object.etag);
  return text;
}

test("a write that was lost before its end leaves the former object, and no files", async () => {
  await put("former");
  const files = await readdir(join(dir, "one"));
  const hash = files.find((name) => /^\w+\.json$/.test(name))?.replace(".json", "");
  expect(hash).toBeDefined();
  for (const lost of ["0123", "draft"])
    await writeFile(join(dir, "one", `${hash}.${lost}`), "lost");
  expect(await contentOf(await openStore(dir))).toBe("former");
  expect(await readdir(join(dir, "one"))).toEqual(files);
});

test("a deleted object that is written again has its new content", async () => {
  await put("first");
  deleteObject(store, bucketOf(store), KEY);
  expect(await contentOf(await openStore(dir))).toBeNull();
  await put("second");
  expect(await contentOf(await openStore(dir))).toBe("second");
});

test("objects of older versions are read and replaced", async () => {
  await put("older");
  const object = bucketOf(store).objects.get(KEY);
  const { file = "", ...older } = object ?? { file: "" };
  const hash = file.replace(/\..*/, "");
  await writeFile(join(dir, "one", hash), "older");
  await writeFile(join(dir, "one", `${hash}.json`), JSON.stringify(older));
  store = await openStore(dir);
  expect(await contentOf(store)).toBe("older");
  expect(existsSync(join(dir, "one", file))).toBe(false);
  await put("newer");
  expect(await contentOf(await openStore(dir))).toBe("newer");
  expect(existsSync(join(dir, "one", hash))).toBe(false);
});
