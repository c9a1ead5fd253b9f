import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CONTRACT } from "../../src/control-plane/builds/contract.ts";
import { contractTypes, HASHES, hashOf, isFrozen } from "../support/node/frozen.ts";

const CHANGED = `The types of src/isolate/*contract.ts have changed.
If fields were added that both sides may omit, run "npm run contract"; tsc compares them with the frozen ones.
Otherwise raise CONTRACT in src/control-plane/builds/contract.ts, translate the earlier contract in
src/control-plane/deployments/isolate/adapters.ts, and run "npm run contract".`;

test("the types between a Worker and its agents are those of the recorded contract", () => {
  const hashes = JSON.parse(readFileSync(HASHES, "utf8")) as Record<string, string>;
  expect(hashes[CONTRACT], CHANGED).toBe(hashOf(contractTypes()));
});

test("the contract is frozen for later versions", () => {
  expect(isFrozen(CONTRACT), 'Run "npm run contract".').toBe(true);
});
