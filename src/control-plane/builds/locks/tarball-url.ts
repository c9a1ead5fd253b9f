import { unresolved } from "../failure.ts";

/** Characters of a `resolved` address: npm's own are under 200. */
const MAX_RESOLVED = 2048;

/** The address of a tarball. A package with a `refusal` cannot be installed: an agent that needs it gets this error. */
export type Tarball = { url: string; refusal?: string };

/**
 * Returns the address of a tarball. This installation's registry replaces the registry of the lockfile. Tarballs from
 * elsewhere keep their address.
 */
export function tarballOf(
  lock: string,
  name: string,
  version: string,
  resolved: string | undefined,
  registry_url: string,
): Tarball {
  if (resolved === undefined) return { url: registryTarball(registry_url, name, version) };
  if (typeof resolved !== "string" || resolved.length > MAX_RESOLVED) {
    throw unresolved(
      `${lock}: "resolved" of "${name}" must be a text of at most ${MAX_RESOLVED} characters. Run npm install again.`,
    );
  }
  const url = URL.parse(resolved);
  const path = url && isWeb(url) ? registryPath(url) : null;
  if (path !== null && registry_url !== "") return { url: withSlash(registry_url) + path };
  if (url && isWeb(url) && /\.(tgz|tar\.gz)$/.test(url.pathname)) return { url: resolved };
  const refusal = `${lock}: "${name}" comes from ${resolved.replace(/\/\/[^@/]*@/, "//")}; Heddle installs packages from the registry or an https tarball, not from git or files. Publish it, or put its code into the repository.`;
  return { url: "", refusal };
}

function isWeb({ protocol }: URL): boolean {
  return protocol === "https:" || protocol === "http:";
}

/** @returns `name/-/file.tgz` or `@scope/name/-/file.tgz`, `null` when the address is not of an npm registry */
function registryPath({ pathname }: URL): string | null {
  const segments = pathname.split("/");
  const [scope = "", name = "", dash, file = ""] = segments.slice(-4);
  if (dash !== "-" || name === "" || !file.endsWith(".tgz")) return null;
  const isScoped = scope.startsWith("@") && scope.length > 1;
  if (name.startsWith("@") && !/%2f./i.test(name)) return null;
  return segments.slice(isScoped ? -4 : -3).join("/");
}

export function registryTarball(registry_url: string, name: string, version: string): string {
  const base = name.slice(name.lastIndexOf("/") + 1);
  return `${withSlash(registry_url)}${name}/-/${base}-${version}.tgz`;
}

/** @throws BuildFailure when the installation has no registry */
export function withSlash(registry_url: string): string {
  if (registry_url === "") {
    throw unresolved("This installation has no npm registry: set the variable REGISTRY_URL.");
  }
  return registry_url.endsWith("/") ? registry_url : `${registry_url}/`;
}
