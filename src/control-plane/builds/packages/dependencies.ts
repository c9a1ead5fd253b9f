import type { EgressPolicy } from "../../../shared/egress/egress.ts";
import type { BuildLog } from "../build-log.ts";
import { bytesText, countText, durationText, listText } from "../text.ts";
import { warnOfAdvisories } from "./advisories.ts";
import type { Installer } from "./install.ts";
import {
  asksOf,
  assertInSync,
  findPackage,
  type Install,
  reachable,
  readLockfile,
} from "./lockfile.ts";
import { providedPaths, type Runtime } from "./prebuilt.ts";
import type { Project } from "./project.ts";
import { resolveInstall } from "./registry.ts";

export type Dependencies = {
  install: Install;
  /** Where the agent's imports start their walk: "" for the root of the source. */
  directory: string;
  /** Packages that the prebuilt runtime stands for. */
  provided: Set<string>;
  langgraph: string | null;
};

export async function readDependencies(
  log: BuildLog,
  project: Project,
  runtime: Runtime,
  options: { policy: EgressPolicy; registry_url: string },
): Promise<Dependencies> {
  const directory = project.folder === "" ? "" : `/${project.folder}`;
  const install = await toInstall(log, project, directory, runtime, options);
  const used = reachable(install, directory, asksOf(project.manifest ?? {}), () => false);
  warnOfAdvisories(log, install, used);
  const provided = providedPaths(runtime.packages, install, directory);
  const langgraph = findPackage(install, directory, "@langchain/langgraph");
  if (langgraph !== null) explain(log, install, langgraph, provided, runtime);
  return { install, directory, provided, langgraph };
}

async function toInstall(
  log: BuildLog,
  project: Project,
  directory: string,
  runtime: Runtime,
  options: { policy: EgressPolicy; registry_url: string },
): Promise<Install> {
  const { manifest, lock, folder, foreign_lock } = project;
  if (manifest === null) return { packages: new Map(), links: new Map() };
  if (lock !== null) {
    const install = readLockfile(lock.folder, lock.text, options.registry_url);
    assertInSync(folder, manifest, install);
    return install;
  }
  if (asksOf(manifest).length === 0) return { packages: new Map(), links: new Map() };
  if (foreign_lock !== null)
    log.warn(`${foreign_lock} is not read; commit a package-lock.json to pin versions.`);
  const started = Date.now();
  const install = await resolveInstall(
    { ...options, preferred: runtime.packages },
    directory,
    manifest,
  );
  const chosen = [...install.packages.values()].map(({ name, version }) => `${name}@${version}`);
  const took = durationText(Date.now() - started);
  log.info(
    `No package-lock.json: chose ${countText(chosen.length, "package")} from package.json in ${took}`,
  );
  log.debug(`Chosen: ${chosen.sort().join(", ")}`);
  return install;
}

function explain(
  log: BuildLog,
  install: Install,
  langgraph: string,
  provided: Set<string>,
  runtime: Runtime,
): void {
  const version = install.packages.get(langgraph)?.version;
  if (provided.has(langgraph)) {
    log.info(`LangGraph ${version} is prebuilt; its packages need not be fetched`);
    return;
  }
  const different = Object.entries(runtime.packages).flatMap(([name, prebuilt]) => {
    const found = install.packages.get(findPackage(install, langgraph, name) ?? "")?.version;
    return found === undefined || found === prebuilt
      ? []
      : [`${name} ${found} (prebuilt: ${prebuilt})`];
  });
  log.info(
    `Bundling LangGraph ${version} itself, which takes longer: ${listText(different) || "its packages are nested"}`,
  );
}

/** Fetches what the agent asks for, without what is prebuilt. */
export async function installAll(
  log: BuildLog,
  installer: Installer,
  project: Project,
  { install, directory, provided }: Dependencies,
): Promise<void> {
  const asks = asksOf(project.manifest ?? {});
  const paths = reachable(install, directory, asks, (path) => provided.has(path));
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
