// The folder in which a stack keeps its state between two starts.
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Region } from "../scripts/regions.ts";
import { identify } from "./processes/processes.ts";

export type StackFolder = {
  /** The environment of wrangler.toml that the data was made in; none: its top level. */
  region?: Region;
  git_port: number;
  /** Needed to push to the git host. */
  git_password: string;
  s3_port: number;
  access_key_id: string;
  secret_access_key: string;
  /** The first workspace; null until it is in the database. */
  tenant_id: string | null;
  api_key: string | null;
  /** `false` until the bucket was made a destination of exports. Folders of older versions have none. */
  has_destination?: boolean;
};

export type Folder = { path: string; kept: StackFolder; release(): Promise<void> };

/** Work of which a folder has one process at a time. */
const CLAIMS = {
  stack: (path: string) =>
    `runs a stack in ${path}. End it, or name another folder: HEDDLE_DIR=.heddle/second`,
  backup: (path: string) => `makes a backup of ${path}. Wait for its end.`,
  release: (path: string) => `changes the releases in ${path}. Wait for its end.`,
};
type Claim = keyof typeof CLAIMS;
const writes = new WeakMap<Folder, Promise<void>>();

export async function openFolder(dir: string, region?: Region): Promise<Folder> {
  const path = resolve(dir);
  await mkdir(path, { recursive: true });
  const release = await claim(path);
  const stored = await readKept(path);
  const kept = stored
    ? { ...stored, git_password: stored.git_password ?? newPassword() }
    : newlyKept(region);
  if (kept.region === region) return { path, kept, release };
  await release();
  throw new Error(
    `${path} holds ${kept.region ?? "no region's"} data and not ${region ?? "that of no region"}. Name another folder with HEDDLE_DIR, or its region with HEDDLE_REGION.`,
  );
}

/** @returns `null` for a folder that no stack was started in */
export async function readKept(path: string): Promise<StackFolder | null> {
  const file = join(path, "kept.json");
  return existsSync(file) ? JSON.parse(await readFile(file, "utf8")) : null;
}

/** Folder of the modules that Node has compiled, for the next start. */
export function compileCacheOf(path: string): string {
  return join(path, "bundle/compiled");
}

function newlyKept(region: Region | undefined): StackFolder {
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

/** Serializes writes: the parts of a stack start at once, and each writes something. */
export function keep(folder: Folder, changes: Partial<StackFolder>): Promise<void> {
  Object.assign(folder.kept, changes);
  const write = () =>
    writeWhole(join(folder.path, "kept.json"), JSON.stringify(folder.kept, null, 2));
  const written = (writes.get(folder) ?? Promise.resolve()).then(write);
  writes.set(folder, written);
  return written;
}

/** Path of the file with the Worker's secrets; a command line can be read by everyone. */
export async function secretsFile(folder: Folder): Promise<string> {
  const file = join(folder.path, "secrets.env");
  if (!existsSync(file)) {
    const key = randomBytes(32).toString("base64");
    await writeWhole(file, `ENCRYPTION_KEYS="${randomUUID().slice(0, 8)}:${key}"\n`);
  }
  return file;
}

/** Readers see the old file or the new one, never half of one, also after the machine lost its power. */
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

/** Returns a function that releases the claim. @throws Error when another process holds it */
export async function claim(path: string, name: Claim = "stack"): Promise<() => Promise<void>> {
  const pid = await holderOf(path, name);
  if (pid !== null && pid !== process.pid) {
    throw new Error(`Process ${pid} already ${CLAIMS[name](path)}`);
  }
  const file = join(path, `${name}.pid`);
  await writeFile(file, (await identify(process.pid)) ?? "");
  return () => rm(file, { force: true });
}

/**
 * Returns the process that holds the claim. A stack that was killed, or whose machine was, left its claim behind;
 * another process may have its number by now.
 * @returns `null` when no living process holds it
 */
export async function holderOf(path: string, name: Claim = "stack"): Promise<number | null> {
  const file = join(path, `${name}.pid`);
  const holder = existsSync(file) ? readFileSync(file, "utf8") : "";
  const pid = Number.parseInt(holder, 10);
  return holder !== "" && holder === (await identify(pid)) ? pid : null;
}
