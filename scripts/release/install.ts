import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { claim, writeWhole } from "../../local/folder.ts";
import { deleteOld, MARKER, ReleaseError, readLink } from "./releases.ts";
import { tryStart } from "./try-start.ts";

export type InstallOptions = {
  root: string;
  /** URL of the repository; `undefined`: the remote `origin` of the checkout that runs this. */
  from: string | undefined;
  ref: string;
  /** Releases to keep. */
  keep: number;
  print(line: string): void;
};

const CHECKOUT = join(import.meta.dirname, "../..");
const OUTPUT_BYTES = 64 * 1024 ** 2;
const run = promisify(execFile);

/**
 * Clones a commit into a new folder with its own node_modules, and tries a start. Then deletes old releases, except
 * those with a link. Does not change the running release.
 */
export async function install({ root, from, ref, keep, print }: InstallOptions): Promise<void> {
  const releases = join(root, "releases");
  await mkdir(releases, { recursive: true });
  const unclaim = await claim(root, "release");
  const draft = join(releases, `.${randomUUID()}`);
  try {
    const { commit, subject } = await clone(draft, from ?? (await originOf(CHECKOUT)), ref);
    const path = join(releases, commit);
    if (existsSync(join(path, MARKER))) return print(`${commit} is installed already.`);
    if (path === (await readLink(root, "current"))) {
      throw new ReleaseError(`${path} runs, but was not installed by this command.`);
    }
    await rm(path, { recursive: true, force: true });
    await rename(draft, path);
    await complete(path, subject, print);
    print(`Installed ${commit} (${subject}). Start it with: npm run release -- switch ${commit}`);
    for (const old of await deleteOld(root, keep)) print(`Deleted ${old}`);
  } finally {
    await rm(draft, { recursive: true, force: true });
    await unclaim();
  }
}

async function complete(path: string, subject: string, print: InstallOptions["print"]) {
  try {
    print(`  Packages: ${await installPackages(path)}`);
    print(`  Started in an empty folder, and answered at ${await tryStart(path)}`);
    const marker = { installed_at: new Date().toISOString(), subject };
    await writeWhole(join(path, MARKER), JSON.stringify(marker));
  } catch (error) {
    await rm(path, { recursive: true, force: true });
    throw error;
  }
}

async function clone(path: string, url: string, ref: string) {
  if (ref.startsWith("-")) throw new ReleaseError(`"${ref}" is not a branch, tag or commit.`);
  await execute("git", ["clone", "--quiet", "--no-checkout", "--", url, path]);
  const hash = (await commitOf(path, `origin/${ref}`)) ?? (await commitOf(path, ref));
  if (hash === null) throw new ReleaseError(`${url} has no branch, tag or commit "${ref}".`);
  await execute("git", ["-C", path, "checkout", "--quiet", "--detach", hash]);
  const subject = await execute("git", ["-C", path, "log", "-1", "--format=%s"]);
  return { commit: hash.slice(0, 12), subject: subject.trim() };
}

function commitOf(path: string, ref: string): Promise<string | null> {
  const args = ["-C", path, "rev-parse", "--verify", "--quiet", `${ref}^{commit}`];
  return run("git", args).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  );
}

async function originOf(checkout: string): Promise<string> {
  const url = await run("git", ["-C", checkout, "remote", "get-url", "origin"]).catch(() => null);
  if (url !== null) return url.stdout.trim();
  throw new ReleaseError(`${checkout} has no remote "origin": give --from, a URL of git.`);
}

/**
 * Links the packages of this checkout when its lock file is equal, which needs no registry, else runs npm ci. Returns a text
 * for the log.
 */
async function installPackages(path: string): Promise<string> {
  const lock = (folder: string) => readFile(join(folder, "package-lock.json"), "utf8");
  const own = join(CHECKOUT, "node_modules");
  if (existsSync(own) && (await lock(path)) === (await lock(CHECKOUT).catch(() => ""))) {
    const isLinked = await run("cp", ["-al", own, join(path, "node_modules")]).then(
      () => true,
      () => false,
    );
    if (isLinked) {
      await copyBuild(path);
      return `linked from ${CHECKOUT}, which has the same package-lock.json`;
    }
    await rm(join(path, "node_modules"), { recursive: true, force: true });
  }
  await execute("npm", ["ci", "--no-audit", "--no-fund"], path);
  return "installed by npm ci";
}

/** Copies dist, so that steps of the build with the same inputs are skipped. */
async function copyBuild(path: string): Promise<void> {
  const built = join(CHECKOUT, "dist");
  if (existsSync(built)) await cp(built, join(path, "dist"), { recursive: true });
}

async function execute(command: string, args: string[], cwd?: string): Promise<string> {
  try {
    const { stdout } = await run(command, args, { cwd, maxBuffer: OUTPUT_BYTES });
    return stdout;
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    const reason = stderr.trim().slice(-2000) || String(error);
    throw new ReleaseError(`${command} ${args[0]} failed: ${reason}`, { cause: error });
  }
}
