// Creates the virtual environment of the Python tests, once for each Python and each content of
// test/python/requirements.txt. Prints the path of its Python, or null on a machine without a suitable Python.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { readOptions } from "./options.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "..");
const REQUIREMENTS = join(ROOT, "test/python/requirements.txt");
const FOLDER = join(ROOT, ".python");

/** Python code that fails before version 3.10, and without venv or pip, which Debian ships apart from Python. */
const PROBE =
  "import ensurepip, sys, venv; assert sys.version_info >= (3, 10); print(sys.version, sys.platform)";

/** Returns the interpreter's path, or `null` on a machine without Python 3.10 or its `venv`. */
export async function pythonEnv(): Promise<string | null> {
  const base = process.env.PYTHON ?? "python3";
  const probe = await run(base, ["-c", PROBE]).catch(() => null);
  if (probe === null) return null;
  const hash = createHash("sha256");
  hash.update(probe.stdout).update(await readFile(REQUIREMENTS));
  const folder = join(FOLDER, hash.digest("hex").slice(0, 16));
  if (!existsSync(folder)) await create(base, folder);
  return join(folder, "bin/python");
}

/** Renames a finished environment into place: two processes may do this at once, and either may be killed. */
async function create(base: string, folder: string): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  const draft = await mkdtemp(join(FOLDER, "draft-"));
  try {
    await run(base, ["-m", "venv", draft]);
    const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"];
    await run(join(draft, "bin/python"), [...install, "--requirement", REQUIREMENTS]);
    await rename(draft, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  readOptions({});
  process.stdout.write(`${await pythonEnv()}\n`);
}
