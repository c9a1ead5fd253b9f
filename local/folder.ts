// The folder in which a stack keeps its state between two starts.
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Region } from "../scripts/regions.ts";
import { identify } from "./processes/processes.ts";

/** Content of kept.json. */
export type StackState = {
  /** The environment of wrangler.toml that the data was made in; none: its top level. */
  region?: Region;
  git_port: number;
  /** Needed to push to the git host, and to read its private repositories. */
  git_password: string;
  s3_port: number;
  access_key_id: string;
  secret_access_key: string;
  /** The first workspace; null until it is in the database. */
  tenant_id: string | null;
  api_key: string | null;
  /**
   * `false` until the Worker has made the bucket a destination of exports, or refused to. Missing in folders of older
   * versions.
   */
  has_destination?: boolean;
};

export type StackFolder = { path: string; state: StackState; unclaim(): Promise<void> };

/** Kinds of work, each with the text of its error. One process at a time does each in a folder. */
const CLAIMS = {
  stack: (path: string) =>
    `runs a stack in ${path}. End it, or name another folder: HEDDLE_DIR=.heddle/second`,
  backup: (path: string) => `makes a backup of ${path}. Wait for its end.`,
  restore: (path: string) => `restores a backup to ${path}. Wait for its end.`,
  release: (path: string) => `changes the releases in ${path}. Wait for its end.`,
};
export type Claim = keyof typeof CLAIMS;

/**
 * Claims a folder for a stack and reads its state. Creates a missing folder.
 * @throws Error when a stack runs in the folder, or when its data is of another region
 */
export async function openFolder(dir: string, region?: Region): Promise<StackFolder> {
  const path = resolve(dir);
  await mkdir(path, { recursive: true });
  const unclaim = await claim(path);
  const stored = await readState(path).catch(async (error: unknown) => {
    await unclaim();
    throw error;
  });
  const state = stored
    ? { ...stored, git_password: stored.git_password ?? newPassword() }
    : newState(region);
  if (state.region === region) return { path, state, unclaim };
  await unclaim();
  const nameOf = (each: Region | undefined) => (each ? `the region ${each}` : "no region");
  throw new Error(
    `${path} holds data of ${nameOf(state.region)}, and the stack starts for ${nameOf(region)}. Name another folder with HEDDLE_DIR, or set HEDDLE_REGION to the region of this one.`,
  );
}

/** @returns `null` for a folder that no stack was started in */
export async function readState(path: string): Promise<StackState | null> {
  const file = join(path, "kept.json");
  return existsSync(file) ? JSON.parse(await readFile(file, "utf8")) : null;
}

/** Folder of the modules that Node has compiled, for the next start. */
export function compileCacheOf(path: string): string {
  return join(path, "bundle/compiled");
}

function newState(region: Region | undefined): StackState {
  return {
    ...(region ? { region } : {}),
    git_port: 0,
    git_password: newPassword(),
    s3_port: 0,
    access_key_id: `HEDDLE${randomBytes(7).toString("hex").toUpperCase()}`,
    secret_access_key: randomBytes(30).toString("base64url"),
    tenant_id: null,
    api_key: null,
    has_destination: false,
  };
}

function newPassword(): string {
  return randomBytes(24).toString("base64url");
}

const writes = new WeakMap<StackFolder, Promise<void>>();

/** Writes changes of the state, one after the other: the parts of a stack start at once, and several save something. */
export function saveState(folder: StackFolder, changes: Partial<StackState>): Promise<void> {
  Object.assign(folder.state, changes);
  const write = () =>
    writeWhole(join(folder.path, "kept.json"), JSON.stringify(folder.state, null, 2));
  const written = (writes.get(folder) ?? Promise.resolve()).then(write);
  writes.set(folder, written);
  return written;
}

/**
 * Returns the path of the file with the Worker's secrets, which the first call creates. The secrets are in a file,
 * because every user can read a command line.
 */
export async function secretsFile(folder: StackFolder): Promise<string> {
  const file = join(folder.path, "secrets.env");
  if (!existsSync(file)) {
    const key = randomBytes(32).toString("base64");
    await writeWhole(file, `ENCRYPTION_KEYS="${randomUUID().slice(0, 8)}:${key}"\n`);
  }
  return file;
}

/** Replaces a file atomically, also when the machine loses its power. */
export async function writeWhole(file: string, text: string): Promise<void> {
  const draft = `${file}.${process.pid}`;
  try {
    await writeFile(draft, text, { mode: 0o600, flush: true });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** @returns a function that releases the claim @throws Error when a process holds it, also when this one does */
export async function claim(path: string, name: Claim = "stack"): Promise<() => Promise<void>> {
  const file = join(path, `${name}.pid`);
  const holder = await takeFile(file);
  if (holder !== null) throw new Error(`Process ${holder} already ${CLAIMS[name](path)}`);
  return () => rm(file, { force: true });
}

/**
 * Creates the file with the identity of this process.
 * @returns the living process that holds it, `null` when created
 */
async function takeFile(file: string): Promise<number | null> {
  const own = (await identify(process.pid)) ?? "";
  while (!(await createWhole(file, own))) {
    const found = await readIfThere(file);
    if (found === null) continue;
    const holder = (await isHeld(found))
      ? Number.parseInt(found, 10)
      : await removeStale(file, found);
    if (holder !== null) return holder;
  }
  return null;
}

/** Creates a file with its whole content. Of several processes only one succeeds. @returns `false` when it exists */
async function createWhole(file: string, text: string): Promise<boolean> {
  const draft = `${file}.${randomUUID()}`;
  try {
    await writeFile(draft, text, { mode: 0o600 });
    await link(draft, file);
    return true;
  } catch (error) {
    if (isCode(error, "EEXIST")) return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Removes the file of a killed process. @returns another process that is removing it, else `null` */
async function removeStale(file: string, stale: string): Promise<number | null> {
  const lock = `${file}.lock`;
  const holder = await takeFile(lock);
  if (holder !== null) return holder;
  // Another process may have replaced the file since it was read.
  if ((await readIfThere(file)) === stale) await rm(file, { force: true });
  await rm(lock, { force: true });
  return null;
}

async function readIfThere(file: string): Promise<string | null> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (isCode(error, "ENOENT")) return null;
    throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code;
}

/**
 * Returns the id of the process that holds the claim.
 * @returns `null` when no living process holds it: a killed stack leaves its file, and another process may have its id
 */
export async function holderOf(path: string, name: Claim = "stack"): Promise<number | null> {
  const file = join(path, `${name}.pid`);
  const holder = await readIfThere(file);
  return holder !== null && (await isHeld(holder)) ? Number.parseInt(holder, 10) : null;
}

async function isHeld(holder: string): Promise<boolean> {
  return holder !== "" && holder === (await identify(Number.parseInt(holder, 10)));
}
