import { decodeBytes, encodeBytes } from "../../../shared/crypto/encoding.ts";
import { joinPath } from "../paths.ts";
import { type Edge, edgesOf, type LockTarget, layOut } from "./layout.ts";
import { assertEntries, parseLock, record, text, texts, unreadable } from "./lock-text.ts";
import { type Install, type Manifest, REGISTRY_INTEGRITY } from "./lockfile.ts";
import { tarballUrl } from "./tarball-url.ts";
import type { Workspaces } from "./workspaces.ts";

type Entry = Record<string, unknown>;
type Options = { registry_url: string; workspaces: Workspaces; project: string };

const LOCAL = /^(file|link|portal):/;
/** `name@npm:1.2.3`: the locator that yarn 2 and newer write. */
const LOCATOR = /^(@?[^@]+)@([a-z]+):(.*)$/;

/** Reads yarn.lock of yarn 1 and of yarn 2 or newer. */
export function readYarnLock(folder: string, source: string, options: Options): Install {
  const path = joinPath(folder, "yarn.lock");
  const { __metadata, ...lock } = parseLock(path, source);
  assertEntries(path, lock);
  const { workspaces, registry_url, project } = options;
  const root = folder === "" ? "" : `/${folder}`;
  const find = finder(lock, workspaces.manifest(root)?.resolutions);
  const toTarget = __metadata === undefined ? fromFirst : fromNewer;
  const graph = {
    edgesOf: (at: string) => edgesOf(withDev(workspaces.manifest(at), at === project)),
    find(edge: Edge, from: string): LockTarget | null {
      const local = localFolder(workspaces, edge, from, find(edge) !== null);
      if (local !== null) return { folder: local };
      const entry = find(edge);
      if (entry) return toTarget({ path, root, registry_url }, edge, entry);
      if (edge.is_optional) return null;
      const hint = "Run yarn install and commit yarn.lock";
      throw unreadable(path, `it lacks ${edge.name}@${edge.range}. ${hint}`);
    },
  };
  return layOut(path, graph, root, project);
}

/** tsconfig.json may extend a devDependency. */
function withDev(manifest: Manifest | null, isProject: boolean): Manifest {
  if (!manifest || !isProject) return manifest ?? {};
  return { ...manifest, dependencies: { ...manifest.devDependencies, ...manifest.dependencies } };
}

/** A lockfile names entries by all ranges that they serve. `resolutions` replace ranges. */
function finder(lock: Entry, resolutions: Record<string, string> = {}) {
  const entries = new Map<string, Entry>();
  const byName = new Map<string, Set<Entry>>();
  for (const [keys, value] of Object.entries(lock)) {
    for (const key of keys.split(/,\s*/)) {
      const entry = record(value);
      entries.set(key, entry);
      const name = key.slice(0, key.indexOf("@", 1));
      byName.set(name, (byName.get(name) ?? new Set()).add(entry));
    }
  }
  const byRange = (name: string, range: string | undefined) =>
    entries.get(`${name}@${range}`) ?? entries.get(`${name}@npm:${range}`);
  return ({ name, range }: Edge): Entry | null => {
    const replaced = resolutions[name] ?? resolutions[`**/${name}`];
    const entry = byRange(name, range) ?? byRange(name, replaced);
    if (entry || replaced === undefined) return entry ?? null;
    const [only, ...others] = byName.get(name) ?? [];
    return others.length === 0 ? (only ?? null) : null;
  };
}

/** Yarn 1 does not list workspaces: a package of the source wins where the lockfile has no entry. */
function localFolder(workspaces: Workspaces, edge: Edge, from: string, isLocked: boolean) {
  const { name, range } = edge;
  const isSource = workspaces.manifest(from) !== null;
  if (LOCAL.test(range) && isSource) {
    const target = joinPath(`${from}/`, range.replace(LOCAL, ""));
    if (workspaces.manifest(target) !== null) return target;
  }
  return range.startsWith("workspace:") || !isLocked ? workspaces.folderOf(name) : null;
}

type Context = { path: string; root: string; registry_url: string };

function fromFirst({ path, registry_url }: Context, { name }: Edge, entry: Entry): LockTarget {
  const version = text(entry.version) ?? "";
  const resolved = text(entry.resolved);
  return {
    key: `${name}@${version} ${resolved}`,
    name: nameOf(resolved) ?? name,
    version,
    url: tarballUrl(path, name, version, resolved?.split("#")[0], registry_url),
    integrity: text(entry.integrity) ?? sha1Of(resolved),
    edges: edgesOf({
      dependencies: texts(entry.dependencies),
      optionalDependencies: texts(entry.optionalDependencies),
    }),
    peers: [],
  };
}

/** The name in the address differs from the name of an alias. */
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

function fromNewer(context: Context, edge: Edge, entry: Entry): LockTarget | null {
  const { path, root, registry_url } = context;
  const [, name = edge.name, protocol = "", rest = ""] =
    LOCATOR.exec(text(entry.resolution) ?? "") ?? [];
  if (protocol === "workspace") return { folder: joinPath(`${root}/`, rest) };
  // Native packages have conditions, and an isolate loads none.
  if (entry.conditions !== undefined && edge.is_optional) return null;
  const { version, resolved } = sourceOf(path, name, protocol, rest);
  const optional = record(entry.dependenciesMeta);
  return {
    key: `${name}@${version}`,
    name,
    version,
    url: tarballUrl(path, name, version, resolved, registry_url),
    // The checksum is of yarn's own archive.
    integrity: REGISTRY_INTEGRITY,
    edges: edgesOf({ dependencies: texts(entry.dependencies) }).map((each) => ({
      ...each,
      is_optional: record(optional[each.name]).optional === "true",
    })),
    peers: Object.keys(record(entry.peerDependencies)),
  };
}

/** Yarn's own patches are for its linker, so the package is taken without them. */
function sourceOf(path: string, name: string, protocol: string, rest: string) {
  if (protocol === "patch" && !rest.includes("builtin<")) {
    throw unreadable(path, `${name} has a patch, which Heddle does not apply; publish a fork`);
  }
  const patched = protocol === "patch" ? /@npm%3A([^#:]+)/.exec(rest)?.[1] : undefined;
  const version = patched ?? rest.split("::")[0] ?? "";
  if (protocol !== "npm" && protocol !== "patch") {
    return { version, resolved: `${protocol}:${rest}` };
  }
  const archive = /__archiveUrl=([^&]+)/.exec(rest)?.[1];
  return { version, resolved: archive === undefined ? undefined : decodeURIComponent(archive) };
}
