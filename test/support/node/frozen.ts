// Artifacts and types of earlier contracts, as `npm run contract` froze them.
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import type { Artifact } from "../../../src/control-plane/builds/contract.ts";

export const FROZEN_FOLDER = "test/fixtures/artifacts";
/** The hash of the types of each contract. */
export const HASHES = join(FROZEN_FOLDER, "contracts.json");

/** Artifacts that were built before artifacts had the number of their contract. */
const UNNUMBERED = 1;

/** Returns an artifact as the builder of that contract stored it. */
function frozenArtifact(contract: number): Artifact {
  const main_module = `contract-${contract}.js`;
  const main = readModule(main_module);
  const chunks = [...main.matchAll(/"\.\/(chunk-\w+\.js)"/g)].map(([, name = ""]) => name);
  return {
    ...(contract !== UNNUMBERED && { contract }),
    compatibility_date: "2026-11-01",
    main_module,
    modules: Object.fromEntries([
      [main_module, main],
      ...chunks.map((name) => [name, readModule(name)]),
    ]),
  };
}

function readModule(name: string): string {
  return brotliDecompressSync(readFileSync(join(FROZEN_FOLDER, `${name}.br`))).toString();
}

/** Tests run in workerd, which has no files: `GET /{contract}`. */
export async function serveFrozen({ url }: { url: string }): Promise<Response> {
  return Response.json(frozenArtifact(Number(new URL(url).pathname.slice(1))));
}

export function isFrozen(contract: number): boolean {
  return existsSync(join(FROZEN_FOLDER, `contract-${contract}.ts`));
}

/** Returns the types between a Worker and its agents, as one module without comments. */
export function contractTypes(): string {
  return globSync("src/isolate/*contract.ts")
    .sort()
    .map((path) => readFileSync(path, "utf8"))
    .join("\n")
    .replaceAll(/^import [^;]*;\n/gm, "")
    .replaceAll(/\/\*[\s\S]*?\*\//g, "")
    .replaceAll(/^ *\/\/.*\n/gm, "")
    .replaceAll(/\n\s*\n/g, "\n");
}

export function hashOf(types: string): string {
  return createHash("sha256").update(types.replaceAll(/\s+/g, "")).digest("hex");
}
