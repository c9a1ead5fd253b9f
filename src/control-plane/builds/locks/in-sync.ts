import { satisfies, validRange } from "semver";
import { isRecord } from "../../../shared/guards.ts";
import { unresolved } from "../failure.ts";
import { findPackage, type Install, type Manifest } from "./install-tree.ts";
import { record, text } from "./lock-text.ts";

/** `root` is the package.json beside the lockfile. */
type Source = { file: string; manager: string; root: Manifest };

/** @throws BuildFailure when the lockfile does not fit package.json, as `npm ci` does. Names the first such package */
export function assertInSync(
  folder: string,
  manifest: Manifest,
  install: Install,
  source: Source,
): void {
  const overrides = overridesOf(source, install);
  const replaced = new Set(replacedNames(overrides));
  for (const [name, declared] of Object.entries(manifest.dependencies ?? {})) {
    const override = text(overrides[name]);
    // A selector with a parent or a range may not apply here. "-" of pnpm removes a dependency.
    if (override === "-" || (override === undefined && replaced.has(name))) continue;
    assertLocked(folder, name, override ?? declared, install, source);
  }
}

function assertLocked(
  folder: string,
  name: string,
  range: string,
  install: Install,
  { file, manager }: Source,
): void {
  const hint = `Run ${manager} install and commit ${file}.`;
  const required = `package.json requires ${name} ${range}`;
  const found = findPackage(install, `/${folder}`, name);
  if (found === null) throw unresolved(`${required}, which ${file} does not have. ${hint}`);
  const version = install.packages.get(found)?.version;
  if (version === undefined || fits(version, range)) return;
  throw unresolved(`${required} but ${file} has ${version}. ${hint}`);
}

function fits(version: string, range: string): boolean {
  return validRange(range) === null || satisfies(version, range, { includePrerelease: true });
}

/** Returns the overrides that the lockfile's package manager applies, by selector. */
function overridesOf({ manager, root }: Source, install: Install): Record<string, unknown> {
  const [overrides, resolutions] = [record(root.overrides), record(root.resolutions)];
  switch (manager) {
    case "npm":
      return overrides;
    case "yarn":
      return resolutions;
    case "bun":
      return { ...resolutions, ...overrides };
    default:
      return install.overrides ?? {};
  }
}

/** Returns the names of overridden packages. Selectors are `a>b@1` (pnpm), `a/b` (yarn) and nested objects (npm). */
function replacedNames(overrides: Record<string, unknown>): string[] {
  return Object.entries(overrides).flatMap(([selector, value]) => [
    targetOf(selector),
    ...(isRecord(value) ? replacedNames(value) : []),
  ]);
}

function targetOf(selector: string): string {
  // Splits at the `>` between packages, not at that of a range like `a@>1`.
  const child = selector.split(/(?<=[^ |@])>/).at(-1) ?? "";
  const at = child.indexOf("@", child.lastIndexOf("/") + 1);
  const [scope = "", name = ""] = ["", ...child.slice(0, at < 0 ? undefined : at).split("/")].slice(
    -2,
  );
  return scope.startsWith("@") ? `${scope}/${name}` : name;
}
