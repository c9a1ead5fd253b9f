import type { BuildOptions } from "esbuild-wasm";

/** Packages with shared state, or classes that `instanceof` checks. An agent gets all of them prebuilt, or none. */
export const SHARED_PACKAGES = [
  "@langchain/langgraph",
  "@langchain/core",
  "@langchain/langgraph-checkpoint",
  "zod",
];

/** Packages that are prebuilt, each version as a unit. Units of LangGraph contain a separate copy of the SDK. */
export const PREBUILT_PACKAGES = [...SHARED_PACKAGES, "@langchain/langgraph-sdk"];

type RuntimeFile = { text: string; imports: string[] };

/**
 * A version of a package as split ES modules. Imports of shared packages name their entry files, so units of any
 * versions fit together.
 */
export type PrebuiltUnit = {
  name: string;
  version: string;
  /** Integrity of the tarball that the unit was built from. */
  integrity: string | null;
  /** Import specifier to file. */
  entries: Record<string, string>;
  files: Record<string, RuntimeFile>;
};

/** The units of one agent. */
export type Runtime = Pick<PrebuiltUnit, "entries" | "files">;

/** Folder of prebuilt modules in the artifact, beside the main module. */
export const RUNTIME_FOLDER = "rt/";

/** Options of esbuild for units. A change of them needs a new `FORMAT` (units.ts) to reach units that are stored. */
export const UNIT_OPTIONS: BuildOptions & { write: false; metafile: true } = {
  bundle: true,
  splitting: true,
  write: false,
  metafile: true,
  format: "esm",
  platform: "neutral",
  target: "es2024",
  mainFields: ["module", "main"],
  conditions: ["workerd", "worker", "import"],
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"' },
};

/** Exports that need a browser or React, data that no agent imports, and patterns (`*`), which name no single file. */
const LEFT_OUT = /^\.\/(package\.json|web|react|react-ui|locales|v4\/locales.*)$|\*/;

/** Import specifiers of a package, by its `exports`. */
export function specifiersOf(name: string, exports: unknown): string[] {
  const paths = typeof exports === "object" && exports !== null ? Object.keys(exports) : ["."];
  return paths.filter((path) => !LEFT_OUT.test(path)).map((path) => name + path.slice(1));
}

/** Returns the file of an import specifier. The name has no version, so that units of any versions fit together. */
export function entryFile(specifier: string): string {
  return `${flatName(specifier)}.js`;
}

/** Returns esbuild's template for names of chunks. No entry file begins with `c-`. */
export function chunkNames(name: string): string {
  return `c-${flatName(name)}-[hash]`;
}

function flatName(specifier: string): string {
  return specifier.replaceAll("@", "").replaceAll("/", ".");
}

type Output = { path: string; text: string };
type OutputImports = Record<string, { imports: { path: string; kind: string }[] }>;

/** Converts the output of esbuild to a unit. */
export function toUnit(
  { name, version, integrity }: Pick<PrebuiltUnit, "name" | "version" | "integrity">,
  specifiers: string[],
  outputFiles: Output[],
  outputs: OutputImports,
): PrebuiltUnit {
  const imports = new Map(
    Object.entries(outputs).map(([path, output]) => [
      baseName(path),
      output.imports.filter((each) => each.path.endsWith(".js")).map((each) => baseName(each.path)),
    ]),
  );
  const files = outputFiles.map(({ path, text }): [string, RuntimeFile] => [
    baseName(path),
    { text, imports: imports.get(baseName(path)) ?? [] },
  ]);
  const entries = Object.fromEntries(specifiers.map((each) => [each, entryFile(each)]));
  return { name, version, integrity, entries, files: Object.fromEntries(files) };
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function mergeUnits(units: Runtime[]): Runtime {
  return {
    entries: Object.assign({}, ...units.map(({ entries }) => entries)),
    files: Object.assign({}, ...units.map(({ files }) => files)),
  };
}

/** Returns the modules of `entries` and all that they import, by their path in the artifact. */
export function closure({ files }: Runtime, entries: Iterable<string>): Record<string, string> {
  const modules: Record<string, string> = {};
  const waiting = [...entries];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const file = files[name];
    if (file === undefined || RUNTIME_FOLDER + name in modules) continue;
    modules[RUNTIME_FOLDER + name] = file.text;
    waiting.push(...file.imports);
  }
  return modules;
}
