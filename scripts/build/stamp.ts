// Runs a step of the build, or skips it when its inputs are the same as at its last success.
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { runUnlessCurrent } from "../memo.ts";

export type Step = {
  name: string;
  /** Globs of files; their contents decide. */
  inputs: string[];
  outputs: string[];
  run: () => Promise<void> | void;
};

export async function runStep({ name, inputs, outputs, run }: Step): Promise<void> {
  await runUnlessCurrent({
    file: `dist/.stamps/${name}.json`,
    values: hashOf(inputs),
    outputs,
    run: async () => ({ result: await run(), inputs: [] }),
  });
}

function hashOf(inputs: string[]): string {
  const hash = createHash("sha256");
  for (const path of inputs.flatMap((pattern) => globSync(pattern)).sort()) {
    hash.update(path).update(readFileSync(path));
  }
  return hash.digest("hex");
}
