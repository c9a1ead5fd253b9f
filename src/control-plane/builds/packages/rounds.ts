import type { BuildLog } from "../build-log.ts";
import { BuildFailure } from "../failure.ts";
import { reachable } from "../locks/install-tree.ts";
import { type Dependencies, installPaths } from "./dependencies.ts";
import type { Installer } from "./install.ts";

/** Maximum number of attempts. Each may find imports of packages that the manifest does not lead to. */
const MAX_ROUNDS = 6;

/** A bundle or its errors, and the install paths of packages that were missing. */
type Attempt<T> = { bundled: T | { ok: false; errors: string[] }; missing: Set<string> };

type Needs = { dependencies: Dependencies; installer: Installer };

/** Bundles, and installs the packages that were missing, until none is missing or other errors remain. */
export async function inRounds<T extends { ok: true }>(
  log: BuildLog,
  { dependencies, installer }: Needs,
  attempt: () => Promise<Attempt<T>>,
): Promise<T | { ok: false; errors: string[] }> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { bundled, missing } = await attempt();
    if (bundled.ok || missing.size === 0) return bundled;
    const paths = withDependencies(dependencies, missing);
    await installPaths(log, installer, dependencies.install, paths);
  }
  throw new BuildFailure(
    "dependency_unresolved",
    `Bundling still misses packages after installing ${MAX_ROUNDS} times: add those that the code imports to package.json.`,
  );
}

function withDependencies({ install, provided }: Dependencies, missing: Set<string>): Set<string> {
  const paths = new Set(missing);
  for (const path of missing) {
    const names = install.packages.get(path)?.needs ?? [];
    for (const need of reachable(install, path, names, (at) => provided.has(at))) paths.add(need);
  }
  return paths;
}
