import { BuildFailure } from "../failure.ts";
import { PACKAGE_LIMITS, SOURCE_LIMITS } from "../limits.ts";
import { findPackage, type Install, type Manifest, type Package } from "./install-tree.ts";

/** Places the packages of a lockfile that lists dependencies without their folders: yarn's and pnpm's. */

export type Edge = {
  name: string;
  range: string;
  is_optional: boolean;
  /** A peer dependency. Any visible version satisfies it. */
  is_peer?: boolean;
};

type LockedPackage = Omit<Package, "path" | "needs" | "is_optional"> & {
  /** Differs for two copies of one version, which pnpm makes for different peers. */
  key: string;
  edges: Edge[];
  peers: Edge[];
};

/** A package of the registry, or a folder of the source. */
export type LockTarget = LockedPackage | { folder: string };

export type LockGraph = {
  /** @returns `null` for an optional package that is not installed */
  find(edge: Edge, from: string): LockTarget | null;
  /** Dependencies of a folder of the source. */
  edgesOf(folder: string): Edge[];
};

type Requirement = Edge & { from: string };

export function edgesOf({ dependencies, optionalDependencies }: Manifest): Edge[] {
  const toEdges = (ranges: Record<string, string> = {}, is_optional = false) =>
    Object.entries(ranges).map(([name, range]) => ({ name, range: String(range), is_optional }));
  const required = toEdges(dependencies).filter(({ name }) => !optionalDependencies?.[name]);
  return [...required, ...toEdges(optionalDependencies, true)];
}

export function peerEdges(ranges: Record<string, string> = {}): Edge[] {
  return Object.entries(ranges).map(([name, range]) => ({
    name,
    range: String(range),
    is_optional: true,
    is_peer: true,
  }));
}

/**
 * Places packages breadth first. A package goes to the root, or inside the one that needs it when the root has another
 * version.
 * @param projects folders with dependencies, the agent's first
 */
export function layOut(path: string, graph: LockGraph, root: string, projects: string[]): Install {
  const main = projects[0];
  const rootFirst = projects.toSorted((one, other) => one.length - other.length);
  // Placed first, the agent's packages are at the root. They may take places that the root folder's packages need: then
  // the outermost folder is placed first.
  const install =
    placeAll(path, graph, root, { projects, main }) ??
    placeAll(path, graph, root, { projects: rootFirst, main });
  if (install === null)
    throw new Error("Two versions of a package of the root folder have the same place");
  return install;
}

type Order = { projects: string[]; main: string | undefined };

/** @returns `null` when two versions of a package have the same place */
function placeAll(
  path: string,
  graph: LockGraph,
  root: string,
  { projects, main }: Order,
): Install | null {
  const layout = new Layout(path, graph, root);
  for (const folder of projects) {
    // A missing entry is an error for the agent's folder only: other folders may have another lockfile.
    layout.place(layout.enter(folder).map((each) => (folder === main ? each : optional(each))));
  }
  layout.placePeers();
  return layout.isTaken ? null : layout.install;
}

class Layout {
  readonly install: Install = { packages: new Map(), links: new Map() };
  /** Whether a package was placed where another version was. */
  isTaken = false;
  readonly #path: string;
  readonly #graph: LockGraph;
  readonly #root: string;
  /** `LockedPackage.key` by install path. */
  readonly #keys = new Map<string, string>();
  readonly #folders = new Set<string>();
  #peers: Requirement[] = [];

  constructor(path: string, graph: LockGraph, root: string) {
    this.#path = path;
    this.#graph = graph;
    this.#root = root;
  }

  /** @returns the requirements of a folder at the first call, without peers, which are placed last */
  enter(folder: string): Requirement[] {
    if (this.#folders.has(folder)) return [];
    this.#folders.add(folder);
    const edges = this.#graph.edgesOf(folder).map((edge) => ({ ...edge, from: folder }));
    this.#peers.push(...edges.filter(({ is_peer }) => is_peer));
    return edges.filter(({ is_peer }) => !is_peer);
  }

  place(requirements: Requirement[]): void {
    for (let level = requirements; level.length > 0; ) {
      level = this.#peersFirst(level).flatMap((requirement) => this.#placeOne(requirement));
    }
  }

  /** Sorts packages behind their peers, because `#placeOf` compares which peers a place has. */
  #peersFirst(level: Requirement[]): Requirement[] {
    const named = new Map(level.map((each) => [`${each.from} ${each.name}`, each]));
    const [seen, sorted] = [new Set<Requirement>(), new Set<Requirement>()];
    const visit = (each: Requirement | undefined) => {
      if (each === undefined || seen.has(each)) return;
      seen.add(each);
      const target = each.is_peer ? null : this.#graph.find(each, each.from);
      const peers = target === null || "folder" in target ? [] : target.peers;
      for (const { name } of peers) visit(named.get(`${each.from} ${name}`));
      sorted.add(each);
    };
    for (const each of level) visit(each);
    return [...sorted];
  }

  /** Places peers that are not visible yet. Package managers may hoist them from workspaces that are not entered. */
  placePeers(): void {
    while (this.#peers.length > 0) {
      const peers = this.#peers;
      this.#peers = [];
      this.place(peers);
    }
  }

  #placeOne(requirement: Requirement): Requirement[] {
    const { name, from, is_optional, is_peer } = requirement;
    const near = findPackage(this.install, from, name);
    if (is_peer && near !== null) return [];
    const target = this.#graph.find(requirement, from);
    if (target === null) return [];
    if ("folder" in target) return this.#link(requirement, target.folder);
    const item = this.install.packages.get(near ?? "");
    const isSame = item !== undefined && this.#keys.get(item.path) === target.key;
    const at = this.#placeOf(requirement, target, near, isSame);
    if (isSame && at === near) {
      item.is_optional &&= is_optional;
      return [];
    }
    this.isTaken ||= this.install.packages.has(at);
    this.#add(at, target, is_optional);
    return target.edges.map((edge) => ({ ...edge, from: at }));
  }

  /** Returns the outermost place where a package finds the same copies of its peers as the one that needs it. */
  #placeOf(
    { name, from }: Requirement,
    target: LockedPackage,
    near: string | null,
    isSame: boolean,
  ): string {
    const placeIn = (folder: string) => `${folder}/node_modules/${name}`;
    if (near !== null && !isSame) return placeIn(from);
    // `near` hides places above it from the package that needs this one.
    const isFree = (at: string) =>
      !this.install.packages.has(at) && at.length > (near ?? "").length;
    const [home = ""] = from.split("/node_modules/");
    const places = [near ?? placeIn(this.#root), placeIn(home)];
    const found = places.find(
      (at) => (at === near || isFree(at)) && this.#seesPeers(at, from, target),
    );
    return found ?? placeIn(from);
  }

  #seesPeers(at: string, from: string, { peers, edges }: LockedPackage): boolean {
    const own = new Set(edges.map(({ name }) => name));
    return peers.every(({ name }) => {
      const wanted = own.has(name) ? null : findPackage(this.install, from, name);
      return wanted === null || findPackage(this.install, at, name) === wanted;
    });
  }

  #add(at: string, { key, edges, peers, ...item }: LockedPackage, is_optional: boolean): void {
    this.#keys.set(at, key);
    const needed = [...edges.filter((edge) => !edge.is_optional), ...peers];
    const needs = needed.map(({ name }) => name);
    this.install.packages.set(at, { ...item, path: at, needs, is_optional });
    this.#peers.push(...peers.map((edge) => ({ ...edge, from: at })));
    assertBounded(this.#path, this.install, at);
  }

  #link({ name, from }: Requirement, folder: string): Requirement[] {
    const near = findPackage(this.install, from, name);
    if (near !== folder) {
      const at = `${near === null ? this.#root : from}/node_modules/${name}`;
      this.install.links.set(at, folder);
    }
    return this.enter(folder);
  }
}

function optional(requirement: Requirement): Requirement {
  return { ...requirement, is_optional: true };
}

/** Versions that need each other in a circle would nest without end. */
function assertBounded(path: string, { packages }: Install, place: string): void {
  const max = PACKAGE_LIMITS.lockfile_entries;
  if (packages.size <= max && place.length <= SOURCE_LIMITS.path_characters) return;
  const text = `${path} leads to more than ${max} packages, or to versions that need each other in a circle.`;
  throw new BuildFailure("dependency_unresolved", text);
}
