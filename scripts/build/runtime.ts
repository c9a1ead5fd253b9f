// LangGraph and its siblings as split ES modules, so that a build whose lockfile has these versions need not bundle them.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { build, type Metafile } from "esbuild";

const PACKAGES = [
  "@langchain/langgraph",
  "@langchain/core",
  "@langchain/langgraph-checkpoint",
  "zod",
];
/** Needs what an isolate has not, or is data that nobody imports. */
const LEFT_OUT = /^(\.\/package\.json|\.\/web|\.\/locales|\.\/v4\/locales.*|.*\*.*)$/;

type Manifest = { version: string; exports: Record<string, unknown> };

type RuntimeFile = { text: string; imports: string[] };
export type Runtime = {
  packages: Record<string, string>;
  entries: Record<string, string>;
  files: Record<string, RuntimeFile>;
};

export async function buildRuntime(outdir: string) {
  const packages: Record<string, string> = {};
  const entries: Record<string, string> = {};
  for (const name of PACKAGES) {
    const manifest = JSON.parse(
      readFileSync(`node_modules/${name}/package.json`, "utf8"),
    ) as Manifest;
    packages[name] = manifest.version;
    for (const path of Object.keys(manifest.exports)) {
      if (LEFT_OUT.test(path)) continue;
      const specifier = name + path.slice(1);
      entries[specifier] = `${specifier.replaceAll("@", "").replaceAll("/", "-")}.js`;
    }
  }
  const { outputFiles, metafile } = await build({
    entryPoints: Object.entries(entries).map(([specifier, file]) => ({
      in: specifier,
      out: file.replace(/\.js$/, ""),
    })),
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    outdir: "rt",
    chunkNames: "c-[hash]",
    format: "esm",
    platform: "neutral",
    target: "es2024",
    mainFields: ["module", "main"],
    conditions: ["workerd", "worker", "import"],
    external: ["node:*"],
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    logLevel: "error",
  });
  const files: Record<string, RuntimeFile> = {};
  for (const output of outputFiles) {
    const name = basename(output.path);
    files[name] = { text: output.text, imports: importsOf(metafile, name) };
  }
  const runtime: Runtime = { packages, entries, files };
  mkdirSync(outdir, { recursive: true });
  writeFileSync(`${outdir}/runtime.txt`, JSON.stringify(runtime));
}

function importsOf(metafile: Metafile, name: string): string[] {
  const imports = metafile.outputs[`rt/${name}`]?.imports ?? [];
  return imports.filter(({ external }) => !external).map(({ path }) => basename(path));
}
