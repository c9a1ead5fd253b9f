// A step is skipped while its inputs are what they were when it last ended well.
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";

export type Step = {
  name: string;
  /** Globs of files; their contents decide. */
  inputs: string[];
  outputs: string[];
  run: () => Promise<void> | void;
};

const FOLDER = "dist/.stamps";

export async function runStep({ name, inputs, outputs, run }: Step): Promise<boolean> {
  const stamp = `${FOLDER}/${name}`;
  const hash = hashOf(inputs);
  const isFresh = existsSync(stamp) && readFileSync(stamp, "utf8") === hash;
  if (isFresh && outputs.every((path) => existsSync(path))) return false;
  await run();
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(stamp, hash);
  return true;
}

function hashOf(inputs: string[]): string {
  const hash = createHash("sha256");
  for (const path of inputs.flatMap((pattern) => globSync(pattern)).sort()) {
    hash.update(path).update(readFileSync(path));
  }
  return hash.digest("hex");
}
