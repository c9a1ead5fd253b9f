import type { EgressPolicy } from "../../../shared/egress/egress.ts";
import type { BuildLog } from "../build-log.ts";
import type { BuildStore } from "../contract.ts";
import { readBunLock } from "../locks/bun-lock.ts";
import { assertInSync } from "../locks/in-sync.ts";
import { dependencyNames, findPackage, type Install, reachable } from "../locks/install-tree.ts";
import { readNpmLock } from "../locks/npm-lock.ts";
import { readPnpmLock } from "../locks/pnpm-lock.ts";
import { readYarnLock } from "../locks/yarn-lock.ts";
import { joinPath } from "../paths.ts";
import type { Runtime } from "../prebuilt/unit.ts";
import { bytesText, countText, durationText, listText } from "../text.ts";
import { warnOfAdvisories } from "./advisories.ts";
import { importersOf } from "./importers.ts";
import type { Installer } from "./install.ts";
import { overridesOf } from "./overrides.ts";
import { parseManifest } from "./package-manifest.ts";
import { absolute, type Lock, MANAGERS, type NpmProject } from "./project.ts";
import { resolveInstall } from "./registry.ts";
import { recordedInstall } from "./resolution.ts";
import { selectPrebuilt } from "./select.ts";

export type Dependencies = {
  install: Install;
  /** Absolute folder from which the agent's imports resolve: "" for the root of the source. */
  directory: string;
  /** Packages that prebuilt modules replace. */
  provided: Set<string>;
  /** The prebuilt modules. */
  runtime: Runtime;
  /** Install path of the agent's LangGraph, or the folder that it is linked to; `null` without it. */
  langgraph: string | null;
};

type Options = { policy: EgressPolicy; registry_url: string };

export async function readDependencies(
  log: BuildLog,
  storage: BuildStore,
  project: NpmProject,
  options: Options,
): Promise<Dependencies> {
  const directory = absolute(project.folder);
  const install = await toInstall(log, storage, project, directory, options);
  const named = dependencyNames(project.manifest ?? {});
  const used = reachable(install, directory, named);
  warnOfAdvisories(log, install, used);
  const { runtime, provided, lacking } = await selectPrebuilt(storage, install, directory, named);
  const langgraph = findPackage(install, directory, "@langchain/langgraph");
  const version = install.packages.get(langgraph ?? "")?.version;
  if (version !== undefined) log.info(explanationOf(version, provided.size > 0, lacking));
  return { install, directory, provided, runtime, langgraph };
}

async function toInstall(
  log: BuildLog,
  storage: BuildStore,
  project: NpmProject,
  directory: string,
  options: Options,
): Promise<Install> {
  const { manifest, lock, folder, ignored_locks } = project;
  if (manifest === null) return { packages: new Map(), links: new Map() };
  if (lock !== null) {
    const { file } = lock;
    for (const other of ignored_locks) {
      log.warn(`${other} is not read, because ${file} is: name the manager as "packageManager".`);
    }
    const install = readLock(project, lock, directory, options.registry_url);
    const root = project.workspaces.manifest(absolute(lock.folder)) ?? {};
    assertInSync(folder, manifest, install, { file, manager: MANAGERS[file], root });
    log.info(`Read ${joinPath(lock.folder, file)}: ${countText(install.packages.size, "package")}`);
    return install;
  }
  const { importers, links } = importersOf(project.workspaces, project.importers);
  if (importers.every((each) => dependencyNames(each.manifest).length === 0)) {
    return { packages: new Map(), links };
  }
  const started = Date.now();
  const overrides = overridesOf(project.workspaces, folder);
  const choose = async () => {
    const preferred = await storage.listPrebuilt();
    return resolveInstall({ ...options, preferred }, directory, importers, overrides);
  };
  const needs = { directory, importers, overrides: overrides.source };
  const { install, isRecorded } = await recordedInstall(storage, needs, choose);
  const chosen = [...install.packages.values()].map(({ name, version }) => `${name}@${version}`);
  const took = durationText(Date.now() - started);
  const count = countText(chosen.length, "package");
  const how = isRecorded
    ? `${count} as in the first build with this package.json`
    : `chose ${count} from package.json in ${took}`;
  log.warn(`No lockfile: ${how}. Commit a lockfile to choose versions yourself.`);
  log.debug(`Chosen: ${chosen.sort().join(", ")}`);
  return { ...install, links };
}

function readLock(
  { workspaces, importers }: NpmProject,
  { folder, file, text }: Lock,
  directory: string,
  registry_url: string,
): Install {
  const root = absolute(folder);
  // Folders of the monorepo's other packages that the bundle needs.
  const others = importers.filter(
    (each) => each !== directory && `${each}/`.startsWith(`${root}/`),
  );
  const options = { registry_url, workspaces, project: directory, others };
  switch (file) {
    case "yarn.lock":
      return readYarnLock(folder, text, options);
    case "pnpm-lock.yaml":
      return readPnpmLock(folder, text, options);
    case "bun.lock":
      return readBunLock(folder, text, registry_url);
    case "npm-shrinkwrap.json":
    case "package-lock.json":
      return readNpmLock(folder, text, registry_url, file);
  }
}

function explanationOf(version: string, isPrebuilt: boolean, lacking: string[]): string {
  if (isPrebuilt) return `LangGraph ${version} is prebuilt; its packages need not be fetched`;
  const why = lacking.length > 0 ? `${listText(lacking)} not prebuilt yet` : "packages are nested";
  return `Bundling LangGraph ${version} itself, which takes longer: ${why}`;
}

/** Fetches the agent's dependencies without the prebuilt ones. */
export async function installAll(
  log: BuildLog,
  installer: Installer,
  project: NpmProject,
  { install, directory, provided }: Dependencies,
): Promise<void> {
  const names = dependencyNames(project.manifest ?? {});
  const paths = reachable(install, directory, names, (path) => provided.has(path));
  await installPaths(log, installer, install, paths);
}

export async function installPaths(
  log: BuildLog,
  installer: Installer,
  install: Install,
  paths: Iterable<string>,
): Promise<void> {
  const packages = [...paths].flatMap((path) => install.packages.get(path) ?? []);
  if (packages.length === 0) return;
  const started = Date.now();
  const { cached, fetched, bytes } = await installer.install(packages);
  for (const { path } of packages.filter((item) => item.is_optional))
    removeIfNative(installer, install, path);
  const took = durationText(Date.now() - started);
  const from = [
    fetched > 0 ? `${fetched} from the registry` : "",
    cached > 0 ? `${cached} from the cache` : "",
  ];
  const what = countText(packages.length, "package");
  log.info(
    `Installed ${what} (${from.filter(Boolean).join(", ")}; ${bytesText(bytes)}) in ${took}`,
  );
}

/** Removes an optional package if it is a native addon, for one OS or CPU. Lockfiles of yarn 1 do not name the OS. */
function removeIfNative({ installed }: Installer, { packages }: Install, path: string): void {
  const bytes = installed.get(path)?.files().get("package.json") ?? null;
  const { os, cpu } = parseManifest(bytes) ?? {};
  if (os === undefined && cpu === undefined) return;
  packages.delete(path);
  installed.delete(path);
}
