import { satisfies } from "semver";
import type { Manifest } from "../locks/install-tree.ts";
import { record } from "../locks/lock-text.ts";
import type { Workspaces } from "../locks/workspaces.ts";
import { ancestors, joinPath } from "../paths.ts";

/**
 * A folder of the source. `manifest` has only the dependencies that come from the registry, not those on other folders.
 */
export type Importer = { folder: string; manifest: Manifest };

type Importers = { importers: Importer[]; links: Map<string, string> };

/** Follows the dependencies of `folders` to other folders of the source, as npm links workspaces. */
export function importersOf(workspaces: Workspaces, folders: string[]): Importers {
  const links = new Map<string, string>();
  const importers: Importer[] = [];
  const waiting = new Set(folders);
  for (const folder of waiting) {
    const { dependencies, optionalDependencies, peerDependencies, ...manifest } =
      workspaces.manifest(folder) ?? {};
    const fromRegistry = (ranges: unknown) =>
      Object.entries(record(ranges)).filter(([name, range]) => {
        const target = localFolder(workspaces, folder, name, String(range));
        if (target === null) return true;
        links.set(`${folder}/node_modules/${name}`, target);
        waiting.add(target);
        return false;
      });
    const maps = { dependencies, optionalDependencies, peerDependencies };
    const kept = Object.entries(maps).filter(([, ranges]) => ranges !== undefined);
    const stripped = kept.map(([key, ranges]) => [key, Object.fromEntries(fromRegistry(ranges))]);
    importers.push({ folder, manifest: { ...manifest, ...Object.fromEntries(stripped) } });
  }
  return { importers, links };
}

/** @returns `null` for a package of the registry */
function localFolder(workspaces: Workspaces, from: string, name: string, range: string) {
  const [, path] = /^(?:file|link|portal):(.*)$/.exec(range) ?? [];
  const target = path === undefined ? workspaces.folderOf(name) : joinPath(`${from}/`, path);
  const manifest = target === null ? null : workspaces.manifest(target);
  if (manifest === null) return null;
  if (path !== undefined || range.startsWith("workspace:")) return target;
  const isMonorepo = [...ancestors(from)].some(
    (folder) => workspaces.manifest(folder)?.workspaces !== undefined,
  );
  return isMonorepo && satisfies(manifest.version ?? "0.0.0", range) ? target : null;
}
