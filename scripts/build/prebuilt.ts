// Bundles LangGraph and the packages around it as split ES modules, so that builds of agents do not. Each version in
// package.json becomes a unit: an alias among the devDependencies adds one.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "esbuild";
import {
  chunkNames,
  entryFile,
  PREBUILT_PACKAGES,
  type PrebuiltUnit,
  SHARED_PACKAGES,
  specifiersOf,
  toUnit,
  UNIT_OPTIONS,
} from "../../src/control-plane/builds/prebuilt/unit.ts";

type Manifest = { name: string; version: string; exports: unknown };
type Dependencies = Record<"dependencies" | "devDependencies", Record<string, string>>;
type Lock = { packages: Record<string, { integrity?: string }> };

/** Writes a compressed file for each unit, and the module that exports all of them by name and version. */
export async function buildPrebuilt(outdir: string): Promise<void> {
  rmSync(outdir, { recursive: true, force: true });
  mkdirSync(outdir, { recursive: true });
  const { packages } = readJson<Lock>("package-lock.json");
  const { dependencies, devDependencies } = readJson<Dependencies>("package.json");
  const units = await Promise.all(
    Object.keys({ ...dependencies, ...devDependencies })
      .map((alias) => `node_modules/${alias}`)
      .map((path) => ({ path, manifest: readJson<Manifest>(`${path}/package.json`) }))
      .filter(({ manifest }) => PREBUILT_PACKAGES.includes(manifest.name))
      .map(({ path, manifest }) => buildUnit(path, manifest, packages[path]?.integrity ?? null)),
  );
  const imports: string[] = [];
  const entries: string[] = [];
  for (const [n, unit] of units.entries()) {
    const { name, version } = unit;
    const file = `${withoutExtension(entryFile(name))}-${version}.bin`;
    writeFileSync(`${outdir}/${file}`, gzipSync(JSON.stringify(unit)));
    imports.push(`import unit${n} from "./${file}";`);
    entries.push(`"${name}@${version}": unit${n}`);
  }
  const code = [...imports, `export const UNITS = { ${entries.join(", ")} };`, ""];
  writeFileSync(`${outdir}/units.js`, code.join("\n"));
}

async function buildUnit(
  path: string,
  { name, version, exports }: Manifest,
  integrity: string | null,
): Promise<PrebuiltUnit> {
  const specifiers = specifiersOf(name, exports);
  const { outputFiles, metafile } = await build({
    ...UNIT_OPTIONS,
    entryPoints: specifiers.map((specifier) => ({
      in: path.slice("node_modules/".length) + specifier.slice(name.length),
      out: withoutExtension(entryFile(specifier)),
    })),
    outdir: "rt",
    chunkNames: chunkNames(name),
    external: ["node:*"],
    plugins: [sharedPackages(name)],
    logLevel: "error",
  });
  return toUnit({ name, version, integrity }, specifiers, outputFiles, metafile.outputs);
}

/** esbuild adds the extension to names of entry points. */
function withoutExtension(file: string): string {
  return file.slice(0, -".js".length);
}

/** Keeps imports of other shared packages as imports of their entry files. */
function sharedPackages(name: string): Plugin {
  const shared = SHARED_PACKAGES.filter((other) => other !== name);
  return {
    name: "shared-packages",
    setup({ onResolve }) {
      onResolve({ filter: /^[@a-z]/ }, ({ path, kind }) => {
        const isShared = shared.some((other) => path === other || path.startsWith(`${other}/`));
        if (kind === "entry-point" || !isShared) return undefined;
        return { path: `./${entryFile(path)}`, external: true };
      });
    },
  };
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, "utf8")) as T;
}
