// Records the types between a Worker and its agents, which `src/isolate/*contract.ts` define. For a new number of
// CONTRACT it also freezes them and an artifact, which the tests of upgrades and rollbacks run.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { CONTRACT } from "../src/control-plane/builds/contract.ts";
import { bundleFrozenAgent } from "../test/support/node/agent-bundle.ts";
import {
  contractTypes,
  FROZEN_FOLDER,
  HASHES,
  hashOf,
  isFrozen,
} from "../test/support/node/frozen.ts";
import { readOptions } from "./options.ts";

readOptions({});
const types = contractTypes();
if (!isFrozen(CONTRACT)) {
  const path = join(FROZEN_FOLDER, `contract-${CONTRACT}`);
  writeFileSync(`${path}.js.br`, brotliCompressSync(await bundleFrozenAgent()));
  writeFileSync(`${path}.ts`, types);
  console.log(`Froze contract ${CONTRACT} as ${path}.ts and .js.br.`);
}
const hashes = JSON.parse(readFileSync(HASHES, "utf8")) as Record<string, string>;
writeFileSync(HASHES, `${JSON.stringify({ ...hashes, [CONTRACT]: hashOf(types) }, null, 2)}\n`);
console.log(`Recorded the types of contract ${CONTRACT}.`);
