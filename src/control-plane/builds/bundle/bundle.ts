import wasm from "esbuild-wasm/esbuild.wasm";
import * as esbuild from "esbuild-wasm/esm/browser.js";
import { pointer } from "../../../shared/source-maps/stacks.ts";
import type { UiFiles } from "../contract.ts";
import { BuildFailure } from "../failure.ts";
import { BUNDLE_TIMEOUT_MS } from "../limits.ts";
import { chunkNames, entryFile, UNIT_OPTIONS } from "../prebuilt/unit.ts";
import type { TsConfig } from "../resolve/tsconfig.ts";
import { emptyFolders } from "./empty-folders.ts";
import { plainPath } from "./node-mode.ts";
import { addedLength, META_DEFINES } from "./source-text.ts";
import { withHostRequire } from "./ui-module.ts";

type BundleErrors = { ok: false; errors: string[] };
export type BundleResult =
  | { ok: true; code: string; map: string; warnings: string[] }
  | BundleErrors;
type BundledUi = { ok: true; files: UiFiles; warnings: string[] } | BundleErrors;
type BundledUnit =
  | { ok: true; outputFiles: esbuild.OutputFile[]; outputs: esbuild.Metafile["outputs"] }
  | BundleErrors;

const EMPTY_GLOB = "A build bundles imports of literal paths: this one throws";

let started: Promise<void> | null = null;

/** Starts esbuild once for all bundles of the isolate: a start costs more than a small bundle. */
export function startBundler(): Promise<void> {
  if (started === null) Object.assign(globalThis, { fs: emptyFolders() });
  started ??= esbuild.initialize({ wasmModule: wasm, worker: false }).catch((error: unknown) => {
    started = null;
    throw error;
  });
  return started;
}

/** Ends esbuild after a crash or a timeout. The next bundle of the isolate starts it again. */
function stopBundler(): void {
  void esbuild.stop();
  started = null;
}

export async function bundle(
  entry: string,
  plugin: esbuild.Plugin,
  { compilerOptions }: TsConfig,
): Promise<BundleResult> {
  const built = await build({
    entryPoints: [entry],
    outfile: "/main.js",
    format: "esm",
    platform: "neutral",
    target: "es2024",
    sourcemap: "external",
    sourcesContent: false,
    define: META_DEFINES,
    logOverride: { "unsupported-dynamic-import": "warning", "direct-eval": "warning" },
    tsconfigRaw: { compilerOptions },
    plugins: [plugin],
  });
  return built.ok ? toBundled(built.output) : built;
}

/** Bundles for browsers: one script that sets a global, and its styles. */
export async function bundleUi(
  entry: string,
  plugin: esbuild.Plugin,
  { compilerOptions }: TsConfig,
  globalName: string,
): Promise<BundledUi> {
  const { jsx: _jsx, target: _target, ...rest } = compilerOptions;
  const built = await build({
    entryPoints: { entrypoint: entry },
    outdir: "/ui",
    format: "iife",
    globalName,
    platform: "browser",
    target: "es2020",
    jsx: "automatic",
    tsconfigRaw: { compilerOptions: rest },
    plugins: [plugin],
  });
  if (!built.ok) return built;
  const files = built.output.outputFiles.map(({ path, text }) => {
    const name = path.slice("/ui/".length);
    return [name, name.endsWith(".js") ? withHostRequire(text) : text];
  });
  return { ok: true, files: Object.fromEntries(files), warnings: warningsOf(built.output) };
}

/** Bundles a package for prebuilt units. Each specifier is an entry point. */
export async function bundleUnit(
  name: string,
  specifiers: string[],
  plugin: esbuild.Plugin,
): Promise<BundledUnit> {
  const built = await build({
    ...UNIT_OPTIONS,
    entryPoints: specifiers.map((specifier) => ({
      in: specifier,
      out: entryFile(specifier).replace(/\.js$/, ""),
    })),
    outdir: "/rt",
    chunkNames: chunkNames(name),
    plugins: [plugin],
  });
  if (!built.ok) return built;
  const { outputFiles, metafile } = built.output;
  return { ok: true, outputFiles, outputs: metafile?.outputs ?? {} };
}

type Output = esbuild.BuildResult<{ write: false }>;

async function build(
  options: esbuild.BuildOptions,
): Promise<{ ok: true; output: Output } | BundleErrors> {
  const work = startBundler().then(() =>
    esbuild.build({
      ...options,
      bundle: true,
      write: false,
      absWorkingDir: "/",
      legalComments: "none",
      define: { ...options.define, "process.env.NODE_ENV": '"production"' },
      logLevel: "silent",
    }),
  );
  try {
    return { ok: true, output: await inTime(work) };
  } catch (error) {
    if (isBuildError(error)) return { ok: false, errors: errorsOf(error) };
    stopBundler();
    throw error;
  }
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(
        new BuildFailure("timed_out", `Bundling took more than ${BUNDLE_TIMEOUT_MS / 1000} s.`),
      );
    }, BUNDLE_TIMEOUT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function toBundled(result: Output): BundleResult {
  const text = (name: string) =>
    result.outputFiles.find(({ path }) => path.endsWith(name))?.text ?? "";
  const warnings = warningsOf(result);
  return { ok: true, code: text("main.js"), map: text("main.js.map"), warnings };
}

function warningsOf({ warnings }: Output): string[] {
  const ofSource = warnings.filter(({ location }) => !location?.file.includes("node_modules/"));
  return ofSource.map((each) =>
    toLine(each.id === "empty-glob" ? { ...each, text: EMPTY_GLOB } : each),
  );
}

function isBuildError(error: unknown): error is esbuild.BuildFailure {
  return error instanceof Error && "errors" in error && Array.isArray(error.errors);
}

/** Replaces esbuild's error about an import by the plugin's warning about the same import, which has the remedy. */
function errorsOf({ errors, warnings }: esbuild.BuildFailure): string[] {
  const place = ({ location }: esbuild.Message) =>
    location && `${location.file}:${location.line}:${location.column}`;
  return errors.map((error) => {
    const own = warnings.find(
      (each) => each.text.startsWith(error.text) && place(each) === place(error),
    );
    return toLine(own ?? error);
  });
}

/** Formats `src/agent.ts:3:14: message`, which editors and terminals turn into a link, and the line of the source. */
function toLine({ text, location }: esbuild.Message): string {
  if (location === null) return text;
  const { line, lineText } = location;
  const file = plainPath(location.file);
  const added = addedLength(lineText);
  const column = Math.max(0, location.column - added);
  const place = `${file.replace(/^\/+/, "")}:${line}:${column + 1}`;
  return `${place}: ${text}\n${pointer(lineText.slice(added), column)}`;
}
