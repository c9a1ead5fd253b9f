import { decodeBytes, encodeBytes } from "../../../shared/crypto/encoding.ts";
import { joinPath } from "../paths.ts";
import { type Install, type Manifest, REGISTRY_INTEGRITY } from "./install-tree.ts";
import { type Edge, edgesOf, type LockTarget, layOut, peerEdges } from "./layout.ts";
import {
  assertEntries,
  parseLock,
  record,
  text,
  texts,
  unpatched,
  unreadable,
} from "./lock-text.ts";
import { tarballOf } from "./tarball-url.ts";
import type { Workspaces } from "./workspaces.ts";
import { catalogRanges, entryFinder, LOCAL, type Replace, resolvedRanges } from "./yarn-ranges.ts";

type Entry = Record<string, unknown>;
type Options = {
  registry_url: string;
  workspaces: Workspaces;
  project: string;
  /** Folders that are installed besides the project. */
  others?: string[];
};

/** Maximum number of peers that are read of a package: each place compares all. Real packages have up to 150. */
const MAX_PEERS = 300;

/** `name@npm:1.2.3`: the locator that yarn 2 and newer write. */
const LOCATOR = /^(@?[^@]+)@([a-z]+):(.*)$/;

/** Reads yarn.lock of yarn 1 and of yarn 2 or newer. */
export function readYarnLock(folder: string, source: string, options: Options): Install {
  const path = joinPath(folder, "yarn.lock");
  const { __metadata, ...lock } = parseLock(path, source);
  assertEntries(path, lock);
  const { workspaces, registry_url, project, others = [] } = options;
  const root = folder === "" ? "" : `/${folder}`;
  const { resolutions } = workspaces.manifest(root) ?? {};
  const find = entryFinder(lock, resolutions);
  const withCatalog = catalogRanges(joinPath(folder, ".yarnrc.yml"), workspaces.read);
  const toTarget = __metadata === undefined ? fromYarn1 : fromYarn2;
  const replace = resolvedRanges(root, __metadata === undefined ? {} : resolutions);
  const graph = {
    edgesOf(at: string) {
      const manifest = workspaces.manifest(at);
      const edges = edgesOf(withDev(manifest, at === project));
      return [...edges, ...peerEdges(manifest?.peerDependencies)].map((edge) =>
        replace(edge, { name: manifest?.name }),
      );
    },
    find(declared: Edge, from: string): LockTarget | null {
      const edge = withCatalog(declared);
      const local = localFolder(workspaces, edge, from, find(edge) !== null);
      if (local !== null) return { folder: local };
      const entry = find(edge);
      if (entry) return toTarget({ path, root, registry_url, replace }, edge, entry);
      if (edge.is_optional) return null;
      const hint = "Run yarn install and commit yarn.lock";
      throw unreadable(path, `it lacks ${edge.name}@${edge.range}. ${hint}`);
    },
  };
  return layOut(path, graph, root, [project, ...others]);
}

/** Adds the devDependencies of the project: tsconfig.json may extend one. */
function withDev(manifest: Manifest | null, isProject: boolean): Manifest {
  if (!manifest || !isProject) return manifest ?? {};
  return { ...manifest, dependencies: { ...manifest.devDependencies, ...manifest.dependencies } };
}

/** Returns the folder of a local dependency. Yarn 1 does not list workspaces, so a name without an entry may be one. */
function localFolder(workspaces: Workspaces, edge: Edge, from: string, isLocked: boolean) {
  const { name, range } = edge;
  const isSource = workspaces.manifest(from) !== null;
  const local = range.replace(LOCAL, "");
  if (local !== range && (isSource || local.startsWith("/"))) {
    const target = joinPath(`${from}/`, local);
    if (workspaces.manifest(target) !== null) return target;
  }
  return range.startsWith("workspace:") || !isLocked ? workspaces.folderOf(name) : null;
}

type Context = { path: string; root: string; registry_url: string; replace: Replace };

function fromYarn1({ path, registry_url }: Context, { name }: Edge, entry: Entry): LockTarget {
  const version = text(entry.version) ?? "";
  const resolved = text(entry.resolved);
  return {
    key: `${name}@${version} ${resolved}`,
    name: nameOf(resolved) ?? name,
    version,
    ...tarballOf(path, name, version, resolved?.split("#")[0], registry_url),
    integrity: text(entry.integrity) ?? sha1Of(resolved),
    edges: edgesOf({
      dependencies: texts(entry.dependencies),
      optionalDependencies: texts(entry.optionalDependencies),
    }),
    peers: [],
  };
}

/** Reads the real name of a package from its address: `npm:` aliases have another name in package.json. */
function nameOf(resolved = ""): string | undefined {
  const [base = "", file] = resolved.split("/-/");
  if (file === undefined) return undefined;
  const [scope = "", name = ""] = base.replace(/%2f/i, "/").split("/").slice(-2);
  return scope.startsWith("@") ? `${scope}/${name}` : name;
}

/** Old entries have the SHA-1 of the tarball in their address only. */
function sha1Of(resolved: string | undefined): string | undefined {
  const hex = resolved?.slice(resolved.lastIndexOf("#") + 1) ?? "";
  return !/^[0-9a-f]{40}$/.test(hex)
    ? undefined
    : `sha1-${encodeBytes(decodeBytes(hex, "hex"), "base64")}`;
}

/** Reads an entry of yarn 2 or newer. @returns `null` for an optional native package */
function fromYarn2(context: Context, edge: Edge, entry: Entry): LockTarget | null {
  const { path, root, registry_url, replace } = context;
  const [, name = edge.name, protocol = "", rest = ""] =
    LOCATOR.exec(text(entry.resolution) ?? "") ?? [];
  if (protocol === "workspace") return { folder: joinPath(`${root}/`, rest) };
  // Only native packages have conditions (an OS or a CPU), and an isolate cannot load them.
  if (entry.conditions !== undefined && edge.is_optional) return null;
  const { version, resolved } = sourceOf(protocol, rest);
  const isPatched = protocol === "patch" && !rest.includes("builtin<");
  const optional = record(entry.dependenciesMeta);
  const parent = { name, reference: `${protocol}:${rest}` };
  return {
    key: `${name}@${version}`,
    name,
    version,
    ...(isPatched
      ? { url: "", refusal: unpatched(path, name) }
      : tarballOf(path, name, version, resolved, registry_url)),
    integrity: REGISTRY_INTEGRITY,
    edges: edgesOf({ dependencies: texts(entry.dependencies) }).map((each) => ({
      ...replace(each, parent),
      is_optional: record(optional[each.name]).optional === "true",
    })),
    peers: peerEdges(texts(entry.peerDependencies))
      .slice(0, MAX_PEERS)
      .map((each) => replace(each, parent)),
  };
}

/** Returns the version and the source of an entry. Ignores yarn's own patches, which are for its linker. */
function sourceOf(protocol: string, rest: string) {
  const patched = protocol === "patch" ? /@npm%3A([^#:]+)/.exec(rest)?.[1] : undefined;
  const version = patched ?? rest.split("::")[0] ?? "";
  if (protocol !== "npm" && protocol !== "patch") {
    return { version, resolved: `${protocol}:${rest}` };
  }
  const archive = /__archiveUrl=([^&]+)/.exec(rest)?.[1];
  return { version, resolved: archive === undefined ? undefined : decodeURIComponent(archive) };
}
