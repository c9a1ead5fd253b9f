import type { Loader, OnLoadArgs, OnLoadResult } from "esbuild-wasm";
import { directoryOf } from "../paths.ts";
import { type Disk, splitPackagePath } from "../resolve/disk.ts";
import { bundleComputedImports, REQUIRE_PREFIX, requireModule } from "./requires.ts";
import { warningsOfSource, withOwnNames } from "./source-text.ts";

export type LoadOptions = {
  disk: Disk;
  /** Modules that no file has, by their specifier. Imports in them resolve from `directory`. */
  virtual: Record<string, { text: string; directory: string }>;
  /** esbuild's loaders of the files that the bundle can hold, by extension. */
  loaders: Record<string, Loader>;
  /** Packages that the project names as its dependencies. */
  dependencies: readonly string[];
  /** Compiles a style sheet before the bundler reads it. */
  styles?: (css: string, directory: string) => Promise<string>;
};

/** Loaders of `import text from "./prompt.txt" with { type: "text" }`, by the type. The extension does not matter. */
export const ATTRIBUTE_LOADERS: Record<string, Loader> = {
  text: "text",
  json: "json",
  bytes: "binary",
};

export const AGENT_LOADERS: Record<string, Loader> = {
  ts: "ts",
  mts: "ts",
  cts: "ts",
  tsx: "tsx",
  jsx: "jsx",
  js: "js",
  mjs: "js",
  cjs: "js",
  json: "json",
  txt: "text",
  md: "text",
  sql: "text",
  html: "text",
  graphql: "text",
};

/** Bundles for browsers have styles and assets. */
export const UI_LOADERS: Record<string, Loader> = {
  ...AGENT_LOADERS,
  css: "css",
  gif: "dataurl",
  jpg: "dataurl",
  jpeg: "dataurl",
  png: "dataurl",
  svg: "dataurl",
  webp: "dataurl",
  woff: "dataurl",
  woff2: "dataurl",
};

const AWS_CLIENT = /\/node_modules\/@aws-sdk\/client-[^/]+\//;
/** The class by which a client of AWS sends requests over HTTP/2, which Workers do not have. */
const HTTP2_HANDLER = /\bNodeHttp2Handler\b/g;

export function loadVirtual({ virtual }: LoadOptions, path: string): OnLoadResult | null {
  const module = virtual[path];
  return module
    ? { contents: module.text, loader: "js", resolveDir: module.directory || "/" }
    : null;
}

/** Returns a module that throws as Node's resolver does, so that code can catch a failed import. */
export function loadAbsent(text: string): OnLoadResult {
  const code = '{ code: "MODULE_NOT_FOUND" }';
  return { contents: `throw Object.assign(new Error(${JSON.stringify(text)}), ${code});` };
}

/** @param path the directory of the requiring file, followed by the name of the module */
export function loadRequires(path: string): OnLoadResult {
  const at = path.indexOf(REQUIRE_PREFIX);
  return { contents: requireModule(path.slice(at)), resolveDir: path.slice(0, at) };
}

export function extensionOf(path: string): string {
  return /\.([^./]+)$/.exec(path)?.[1] ?? "";
}

export function loadFile(
  { disk, loaders, styles, dependencies }: LoadOptions,
  { path, with: attributes }: OnLoadArgs,
): OnLoadResult | Promise<OnLoadResult> {
  const loader = ATTRIBUTE_LOADERS[attributes?.type ?? ""] ?? loaders[extensionOf(path)] ?? "js";
  const contents = disk.read(path) ?? "";
  if (loader === "css" && styles) return loadStyles(path, contents, styles);
  if (!/^[jt]sx?$/.test(loader)) return { contents, loader };
  const text = typeof contents === "string" ? contents : new TextDecoder().decode(contents);
  if (splitPackagePath(path) === null) return loadSource(path, text, loader);
  const bundled = bundleComputedImports(withHttp1(path, text), dependencies);
  return { contents: withOwnNames(path, bundled), loader };
}

/** Makes clients of AWS, such as that of Bedrock, use HTTP/1.1, which the services answer as well. */
function withHttp1(path: string, text: string): string {
  return AWS_CLIENT.test(path) ? text.replaceAll(HTTP2_HANDLER, "NodeHttpHandler") : text;
}

function loadSource(path: string, text: string, loader: Loader): OnLoadResult {
  const contents = withOwnNames(path, text);
  const warnings = warningsOfSource(path, text);
  // Unlike compiled packages, sources may have JSX in .js files.
  return { contents, loader: loader === "js" ? "jsx" : loader, warnings };
}

async function loadStyles(
  path: string,
  bytes: Uint8Array | string,
  styles: NonNullable<LoadOptions["styles"]>,
): Promise<OnLoadResult> {
  const css = typeof bytes === "string" ? bytes : new TextDecoder().decode(bytes);
  try {
    return { contents: await styles(css, directoryOf(path)), loader: "css" };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { errors: [{ text: `${path.slice(1)}: ${why}` }] };
  }
}
