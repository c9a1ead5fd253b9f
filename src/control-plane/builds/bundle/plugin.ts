import type {
  ImportKind as EsbuildKind,
  OnResolveArgs,
  OnResolveResult,
  Plugin,
} from "esbuild-wasm";
import { ASSET_BYTES } from "../limits.ts";
import { directoryOf } from "../paths.ts";
import { splitPackagePath } from "../resolve/disk.ts";
import type { Resolution } from "../resolve/disk-resolver.ts";
import { isUrl, type RequestKind, type Resolver } from "../resolve/resolver.ts";
import { bytesText } from "../text.ts";
import {
  ATTRIBUTE_LOADERS,
  extensionOf,
  type LoadOptions,
  loadAbsent,
  loadFile,
  loadRequires,
  loadVirtual,
} from "./loads.ts";
import { nodeModePath, plainPath } from "./node-mode.ts";
import { REQUIRE_PREFIX } from "./requires.ts";
import { warningOfBuiltin } from "./source-text.ts";

/** Packages are installed, but for those of LangGraph: Heddle provides modules that are bundled already, called prebuilt. */
export type PluginOptions = LoadOptions & {
  resolve: Resolver;
  /** Resolves to the installed package where a prebuilt package lacks the imported module. */
  resolveInstalled: Resolver;
  /** @returns the path of the prebuilt module that a specifier leads to, or `null` without one. */
  providedModule: (specifier: string) => string | null;
  /** @returns the module path of a WebAssembly file. Unset for browsers and for prebuilt units, which hold none. */
  wasmModule?: (path: string) => string | null;
  /** Matches modules that the host's page provides. The plugin bundles for a browser if and only if this is set. */
  isShared?: (specifier: string) => boolean;
  /** Filled while bundling: directories of packages to fetch before the next attempt. */
  missing: Set<string>;
};

/** Before the name of an outside module: the ES module that exports what it has, see `externals`. */
const ESM_STUB = "heddle-esm:";
/** Namespace of modules that throw when they are imported. Their paths are the text of the error. */
const ABSENT = "absent";
/** Namespace of the empty module for files that a package excludes from browsers. */
const LEFT_OUT = "left-out";
/**
 * Namespace of modules that bundle the `createRequire` calls of one file. Paths begin with the directory of the file.
 */
const REQUIRES = "requires";
/** Modules of the runtime, with the modules that replace them in agents. */
const REPLACED: Record<string, string> = { "cloudflare:sockets": "heddle:sockets" };
const MCP_SDK = /\/node_modules\/@modelcontextprotocol\/sdk\//;
/** Packages of the MCP SDK, with the modules that replace them there: they generate code from text. */
const REPLACED_IN_MCP: Record<string, string> = {
  ajv: "heddle:ajv",
  "ajv-formats": "heddle:ajv-formats",
};

/** esbuild has no file system: it reads only through this plugin. */
export function heddlePlugin(options: PluginOptions): Plugin {
  return {
    name: "heddle",
    setup(build) {
      build.onResolve({ filter: /.*/ }, (args) =>
        resolveImport(options, { ...args, importer: plainPath(args.importer) }),
      );
      build.onLoad({ filter: /.*/, namespace: "heddle" }, ({ path }) => loadVirtual(options, path));
      build.onLoad({ filter: /.*/, namespace: "file" }, (args) =>
        loadFile(options, { ...args, path: plainPath(args.path) }),
      );
      build.onLoad({ filter: /.*/, namespace: REQUIRES }, ({ path }) => loadRequires(path));
      build.onLoad({ filter: /.*/, namespace: ABSENT }, ({ path }) => loadAbsent(path));
      build.onLoad({ filter: /.*/, namespace: LEFT_OUT }, () => ({ contents: "" }));
      externals(build);
    },
  };
}

function resolveImport(options: PluginOptions, args: OnResolveArgs): OnResolveResult {
  const { path, importer, namespace, kind, resolveDir } = args;
  const directory = namespace === "file" ? directoryOf(importer) : resolveDir;
  // Leaves the URLs of style sheets to the browser.
  if (isUrl(path) && /^(url-token|import-rule)$/.test(kind)) return { path, external: true };
  const own = ownModule(options, args, directory);
  if (own !== null) return own;
  const file = path.replace(/\.wasm\?module$/, ".wasm");
  const resolved = options.resolve(file, directory, toRequest(kind));
  const deferred = isUnresolved(resolved) ? deferredResult(args, resolved) : null;
  if (deferred !== null) return deferred;
  const special = specialResult(options, args, resolved);
  if (special !== null) return special;
  if (resolved.type !== "provided") return toResult(options, resolved, kind);
  const module = options.providedModule(resolved.specifier);
  if (module !== null) return toExternal(module, kind);
  return toResult(options, options.resolveInstalled(path, directory, toRequest(kind)), kind);
}

/** Resolves modules that are in neither the source nor a package. @returns `null` for others */
function ownModule(
  { virtual, isShared }: PluginOptions,
  { path, namespace, importer }: OnResolveArgs,
  directory: string,
): OnResolveResult | null {
  const replaced = { ...REPLACED, ...(MCP_SDK.test(importer) && REPLACED_IN_MCP) };
  const name = namespace === "file" ? (replaced[path] ?? path) : path;
  if (name in virtual) return { path: name, namespace: "heddle" };
  if (isShared?.(path)) return { path, external: true };
  if (path.startsWith(ESM_STUB)) {
    return { path: path.slice(ESM_STUB.length), namespace: "external-esm" };
  }
  if (path.startsWith(REQUIRE_PREFIX)) return { path: directory + path, namespace: REQUIRES };
  return namespace === "external-esm" ? { path, external: true } : null;
}

/** Handles imports with attributes, and builtins that the source should not use. */
function specialResult(
  { isShared, disk }: PluginOptions,
  args: OnResolveArgs,
  resolved: Resolution,
): OnResolveResult | null {
  if (resolved.type === "file" && ATTRIBUTE_LOADERS[args.with?.type ?? ""]) {
    if (disk.read(resolved.path) !== null) return { path: resolved.path, sideEffects: false };
    return { errors: [{ text: unreadAttribute(resolved.path) }] };
  }
  const isSource = splitPackagePath(args.importer) === null;
  if (resolved.type !== "builtin" || isShared || !isSource) return null;
  const text = warningOfBuiltin(resolved.name);
  if (text === null) return null;
  return { ...toExternal(toBuiltin(resolved.name), args.kind), warnings: [{ text }] };
}

function unreadAttribute(path: string): string {
  return `${path.slice(1)} cannot be imported with attributes: it is larger than ${bytesText(ASSET_BYTES)}, or has an unknown extension. Rename it, for example to .txt`;
}

type UnresolvedImport = Extract<Resolution, { text: string }>;

function isUnresolved(to: Resolution): to is UnresolvedImport {
  return to.type === "absent" || to.type === "error";
}

/** @returns `null` when the import fails the build */
function deferredResult(args: OnResolveArgs, to: UnresolvedImport): OnResolveResult | null {
  if (isDeferred(args)) return { path: to.text, namespace: ABSENT };
  return isOnDemand(args) ? { warnings: [{ text: to.text }] } : null;
}

/**
 * Matches missing imports that throw at run time and do not fail the build: calls of a created `require`, and calls of
 * `require` and `import()` in packages. Code may catch these errors.
 */
function isDeferred({ kind, importer, namespace }: OnResolveArgs): boolean {
  const isPackage = splitPackagePath(importer) !== null;
  return namespace === REQUIRES || (isPackage && !/^import-(statement|rule)$/.test(kind));
}

/**
 * Matches imports that esbuild resolves itself, because it knows whether the source catches a failure. If the source
 * does not, `errorsOf` of bundle.ts reports the text of the warning in place of esbuild's error.
 */
function isOnDemand({ kind, importer, path }: OnResolveArgs): boolean {
  const isSource = splitPackagePath(importer) === null;
  return isSource && !isUrl(path) && (kind === "dynamic-import" || kind === "require-call");
}

function toRequest(kind: EsbuildKind): RequestKind {
  if (kind === "require-call" || kind === "require-resolve") return "require";
  return kind === "import-rule" ? "style" : "import";
}

/**
 * A CommonJS module gets an outside module through two stubs, because esbuild leaves a `require` of one as it is, and the
 * runtime has no `require`. For `require("x")`: the stub of `x` in external-cjs has `require("heddle-esm:x")`, which is the
 * stub in external-esm, and that imports `x`. Modules of Node.js have all of their exports in their default.
 */
function externals(build: Parameters<Plugin["setup"]>[0]) {
  build.onLoad({ filter: /.*/, namespace: "external-cjs" }, ({ path }) => {
    const esm = `require(${JSON.stringify(ESM_STUB + path)})`;
    return { contents: `module.exports = ${path.startsWith("node:") ? `${esm}.default` : esm};` };
  });
  build.onLoad({ filter: /.*/, namespace: "external-esm" }, ({ path }) => {
    const target = JSON.stringify(path);
    const isBuiltin = path.startsWith("node:");
    return {
      contents: isBuiltin ? `export { default } from ${target};` : `export * from ${target};`,
    };
  });
}

function toResult(
  options: PluginOptions,
  resolved: Resolution,
  kind: EsbuildKind,
): OnResolveResult {
  switch (resolved.type) {
    case "file":
      return toSource(options, resolved.path, resolved.has_side_effects);
    case "builtin":
      if (options.isShared) return { errors: [{ text: `No browser has ${resolved.name}` }] };
      return toExternal(toBuiltin(resolved.name), kind);
    case "left-out":
      return { path: LEFT_OUT, namespace: LEFT_OUT };
    case "missing":
      options.missing.add(resolved.directory);
      return {
        errors: [{ text: `The package in ${resolved.directory.slice(1)} is not there yet` }],
      };
    case "provided":
      return { errors: [{ text: `"${resolved.specifier}" has no prebuilt module` }] };
    case "absent":
    case "error":
      return { errors: [{ text: resolved.text }] };
  }
}

function toBuiltin(name: string): string {
  return /^(node|cloudflare):/.test(name) ? name : `node:${name}`;
}

function toExternal(path: string, kind: EsbuildKind): OnResolveResult {
  if (kind !== "require-call") return { path, external: true };
  return { path, namespace: "external-cjs" };
}

/** Refuses files at their import, so that esbuild names the line. */
function toSource(options: PluginOptions, path: string, sideEffects: boolean): OnResolveResult {
  const module = path.endsWith(".wasm") ? options.wasmModule?.(path) : null;
  if (module) return { path: module, external: true };
  const refused = refusalOf(options, path);
  if (refused !== null) return { errors: [{ text: refused }] };
  return { path: options.isShared ? path : nodeModePath(options.disk, path), sideEffects };
}

function refusalOf({ disk, loaders }: PluginOptions, path: string): string | null {
  const name = path.slice(1);
  const extension = extensionOf(path);
  if (extension === "node") {
    return `The native addon ${name} cannot run on Workers; use a package in plain JavaScript`;
  }
  if (extension === "wasm") return `${name}: this bundle holds no WebAssembly files`;
  if (extension in loaders && disk.read(path) === null) {
    return `${name} is larger than ${bytesText(ASSET_BYTES)}: serve it from elsewhere and name its URL`;
  }
  const isKnown = extension in loaders || (extension === "" && disk.read(path) !== null);
  return isKnown ? null : `${name} cannot be bundled: it is neither code, JSON nor text`;
}
