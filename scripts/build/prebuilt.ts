// LangGraph and the packages around it as split ES modules, so that builds need not bundle them. The versions are
// those that package.json names: another line of LangGraph is one more alias among the devDependencies.
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
type Own = Record<"dependencies" | "devDependencies", Record<string, string>>;
type Lock = { packages: Record<string, { integrity?: string }> };

export async function buildPrebuilt(outdir: string): Promise<void> {
  rmSync(outdir, { recursive: true, force: true });
  mkdirSync(outdir, { recursive: true });
  const { packages } = readJson<Lock>("package-lock.json");
  const { dependencies, devDependencies } = readJson<Own>("package.json");
  const units = await Promise.all(
    Object.keys({ ...dependencies, ...devDependencies })
      .map((alias) => `node_modules/${alias}`)
      .map((path) => ({ path, manifest: readJson<Manifest>(`${path}/package.json`) }))
      .filter(({ manifest }) => PREBUILT_PACKAGES.includes(manifest.name))
      .map(({ path, manifest }) => buildUnit(path, manifest, packages[path]?.integrity ?? null)),
  );
  const lines = units.map(({ name, version, ...rest }, n) => {
    const file = `${entryFile(name).slice(0, -".js".length)}-${version}.bin`;
    writeFileSync(`${outdir}/${file}`, gzipSync(JSON.stringify({ name, version, ...rest })));
    return { import: `import u${n} from "./${file}";`, entry: `"${name}@${version}": u${n}` };
  });
  const entries = lines.map(({ entry }) => entry).join(", ");
  const code = [...lines.map((line) => line.import), `export const UNITS = { ${entries} };`, ""];
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
      out: entryFile(specifier).slice(0, -".js".length),
    })),
    outdir: "rt",
    chunkNames: chunkNames(name),
    external: ["node:*"],
    plugins: [sharedPackages(name)],
    logLevel: "error",
  });
  return toUnit({ name, version, integrity }, specifiers, outputFiles, metafile.outputs);
}

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
