// The folders of installed releases, and the two links to them.
import { existsSync } from "node:fs";
import {
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  symlink,
} from "node:fs/promises";
import { basename, join } from "node:path";

/** A failure with its remedy, for the operator. */
export class ReleaseError extends Error {}

export type Release = {
  commit: string;
  path: string;
  installed_at: string;
  subject: string;
  is: "current" | "previous" | "";
};

export type Link = "current" | "previous";

/** Name of the file that is written after the release has started once. */
export const MARKER = ".installed.json";

/** Lists installed releases, the newest first. */
export async function listReleases(root: string): Promise<Release[]> {
  const folder = join(root, "releases");
  const names = existsSync(folder) ? await readdir(folder) : [];
  const [current, previous] = [await readLink(root, "current"), await readLink(root, "previous")];
  const found: Release[] = [];
  for (const commit of names.filter((name) => existsSync(join(folder, name, MARKER)))) {
    const path = await realpath(join(folder, commit));
    const marker = JSON.parse(await readFile(join(path, MARKER), "utf8")) as Pick<
      Release,
      "installed_at" | "subject"
    >;
    const is = path === current ? "current" : path === previous ? "previous" : "";
    found.push({ ...marker, commit, path, is });
  }
  return found.sort((a, b) => b.installed_at.localeCompare(a.installed_at));
}

/** Finds a release by the beginning of its commit, or the newest. @throws ReleaseError when not exactly one fits */
export async function findRelease(root: string, commit?: string): Promise<Release> {
  const releases = await listReleases(root);
  const found =
    commit === undefined
      ? releases.slice(0, 1)
      : releases.filter((release) => release.commit.startsWith(commit.slice(0, 12)));
  if (found.length === 1 && found[0] !== undefined) return found[0];
  const names = releases.map((release) => release.commit).join(", ") || "none";
  throw new ReleaseError(
    `${commit ?? "A release"} is ${found.length === 0 ? "not installed" : "ambiguous"}. Installed: ${names}.`,
  );
}

/** Returns the folder that a link names. @returns `null` when the link is missing, or its folder */
export async function readLink(root: string, name: Link): Promise<string | null> {
  return realpath(join(root, name)).catch(() => null);
}

/** Replaces a link in one step: at any time it names the old folder or the new one. */
export async function setLink(root: string, name: Link, path: string): Promise<void> {
  const file = join(root, name);
  const existing = await readlink(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw new ReleaseError(`${file} is not a link. Move it away: releases need this name.`);
  });
  if (existing === path) return;
  const draft = `${file}.${process.pid}`;
  await mkdir(root, { recursive: true });
  await rm(draft, { force: true });
  await symlink(path, draft);
  await rename(draft, file);
}

/** Deletes all but the newest `keep` releases, and never one with a link. Returns the names of their folders. */
export async function deleteOld(root: string, keep: number): Promise<string[]> {
  const old = (await listReleases(root)).slice(keep).filter(({ is }) => is === "");
  for (const { path } of old) {
    await rm(join(path, MARKER));
    await rm(path, { recursive: true, force: true });
  }
  return old.map(({ path }) => basename(path));
}
