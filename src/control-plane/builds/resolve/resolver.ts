import { SPECIFIER_CHARACTERS } from "../limits.ts";
import { splitPackagePath } from "./disk.ts";
import { diskResolver, type Packages, type Resolution } from "./disk-resolver.ts";
import { aliasesOf, type TsConfig } from "./tsconfig.ts";

export type RequestKind = "import" | "require" | "style";
export type Resolver = (specifier: string, directory: string, kind: RequestKind) => Resolution;

type ResolverOptions = Packages & {
  tsconfig: TsConfig;
  /** Environment of the code: an isolate by default. */
  platform?: "browser";
};

const TYPESCRIPT = [".ts", ".tsx", ".mts", ".cts"];
const JAVASCRIPT = [".js", ".jsx", ".mjs", ".cjs"];
const SOURCE_EXTENSIONS = [...TYPESCRIPT, ...JAVASCRIPT, ".json"];
/** JavaScript first: packages may also have TypeScript sources, which may need a tsconfig.json that they lack. */
const PACKAGE_EXTENSIONS = [...JAVASCRIPT, ...TYPESCRIPT, ".json"];

const SCRIPTS = {
  extensionAlias: {
    ".js": [".js", ".ts", ".tsx"],
    ".jsx": [".jsx", ".tsx"],
    ".mjs": [".mjs", ".mts"],
    ".cjs": [".cjs", ".cts"],
  },
  extensionAliasForExports: true,
};

/** `main` first, as in Node: with `module` first, a package that is imported and required has two instances. */
const SCRIPT_FIELDS = ["main", "module"];
const MAIN_FIELDS = {
  import: SCRIPT_FIELDS,
  require: SCRIPT_FIELDS,
  style: ["module", "main"],
};
const FOR_BROWSERS = { mainFields: ["browser", "module", "main"], aliasFields: ["browser"] };

const BROWSER_CONDITIONS = {
  import: ["browser", "import", "module"],
  require: ["browser", "require", "module"],
  style: ["style", "browser"],
};

/** Tried after the others: packages without a condition for isolates may have a file that runs there. */
const LAST_RESORTS = ["browser", "node"];

export function createResolver(options: ResolverOptions): Resolver {
  const scripts = new ScriptResolver(options);
  return (specifier, directory, kind) => {
    if (specifier.length > SPECIFIER_CHARACTERS) return tooLong(specifier);
    return isUrl(specifier) ? fromUrl(specifier) : scripts.resolve(specifier, directory, kind);
  };
}

class ScriptResolver {
  readonly #options: ResolverOptions;
  readonly #resolvers = new Map<string, ReturnType<typeof diskResolver>>();

  constructor(options: ResolverOptions) {
    this.#options = options;
  }

  resolve(specifier: string, directory: string, kind: RequestKind): Resolution {
    const { platform, isBuiltin } = this.#options;
    const lookups = lookupsOf(kind, platform);
    const isInSource = isSource(directory);
    if (/^\.{0,2}(\/|$)/.test(specifier) || isBuiltin(specifier)) {
      const extensions = isInSource ? SOURCE_EXTENSIONS : PACKAGE_EXTENSIONS;
      return this.#lookUp({ ...lookups[0], extensions }, specifier, directory);
    }
    const alias = isInSource ? this.#findAlias(lookups[0], specifier) : undefined;
    if (alias) return alias;
    const resolved = this.#findPackage(lookups, specifier, directory);
    const isExplained = resolved.type === "absent" && isInSource;
    return isExplained ? explained(resolved, specifier, this.#options.tsconfig) : resolved;
  }

  #findAlias(lookup: Lookup, specifier: string): Resolution | undefined {
    const paths = aliasesOf(this.#options.tsconfig, specifier);
    const ofSource = { ...lookup, extensions: SOURCE_EXTENSIONS };
    return paths
      .map((path) => this.#lookUp(ofSource, path, ""))
      .find(({ type }) => type === "file");
  }

  /** Falls back to the source of a compiled file that does not exist: builds run no scripts of packages. */
  #findPackage(lookups: Lookups, specifier: string, directory: string): Resolution {
    const [first, ...others] = lookups;
    let resolved = this.#lookUp(first, specifier, directory);
    let source: string | undefined;
    for (const lookup of others) {
      if (resolved.type !== "error") return resolved;
      source ??= resolved.source;
      resolved = this.#lookUp(lookup, specifier, directory);
    }
    if (resolved.type !== "error") return resolved;
    source ??= resolved.source;
    return source === undefined ? resolved : this.#lookUp(first, source, "");
  }

  #lookUp(lookup: Lookup, specifier: string, directory: string): Resolution {
    const key = JSON.stringify(lookup);
    const resolver =
      this.#resolvers.get(key) ?? diskResolver(this.#options, { ...SCRIPTS, ...lookup });
    this.#resolvers.set(key, resolver);
    return resolver(specifier, directory);
  }
}

/** Options of enhanced-resolve for one lookup. */
type Lookup = { conditionNames: string[]; mainFields: string[]; extensions: string[] };
/** Lookups in their order. A later one runs only if those before it failed. */
type Lookups = [Lookup, ...Lookup[]];

function lookupsOf(kind: RequestKind, platform?: "browser"): Lookups {
  const fields = platform === "browser" ? FOR_BROWSERS : { mainFields: MAIN_FIELDS[kind] };
  const toLookup = (conditionNames: string[]): Lookup => ({
    ...{ ...fields, conditionNames },
    extensions: PACKAGE_EXTENSIONS,
  });
  const [first, ...others] = conditionsOf(kind, platform);
  return [toLookup(first), ...others.map(toLookup)];
}

/** Names the alias of tsconfig.json that is wrong or lacking. No package has a name like `@` or `~`. */
function explained(absent: Resolution, specifier: string, { paths }: TsConfig): Resolution {
  const { "*": _all, ...named } = paths;
  const [target] = aliasesOf({ base: null, compilerOptions: {}, paths: named }, specifier);
  const isName = /^(@[\w.-]+\/)?[\w.-]/.test(specifier) && !specifier.startsWith("@/");
  if (target === undefined && isName) return absent;
  const why =
    target === undefined
      ? 'no pattern of "paths" in tsconfig.json matches it'
      : `"paths" of tsconfig.json leads to ${target.slice(1)}, which does not exist`;
  return { type: "error", text: `Could not resolve "${specifier}": ${why}` };
}

/** Matches URLs of modules, which the bundle of an isolate cannot import. */
export function isUrl(specifier: string): boolean {
  return /^(https?:)?\/\/|^(data|blob|file):/i.test(specifier);
}

function fromUrl(specifier: string): Resolution {
  const why = "modules cannot be imported by their URL; add the package to dependencies";
  return { type: "error", text: `Could not resolve "${specifier}": ${why}` };
}

/** Returns whether `paths` of tsconfig.json apply: to the source, not to packages. */
function isSource(directory: string): boolean {
  return splitPackagePath(directory) === null;
}

type Conditions = [string[], ...string[][]];

function conditionsOf(kind: RequestKind, platform?: "browser"): Conditions {
  if (platform === "browser") return [BROWSER_CONDITIONS[kind]];
  const base = ["workerd", "worker", kind === "require" ? "require" : "import", "module"];
  return [base, ...LAST_RESORTS.map((last) => [...base, last])];
}

function tooLong({ length }: string): Resolution {
  const text = `An import has ${length} characters; at most ${SPECIFIER_CHARACTERS} are allowed`;
  return { type: "error", text };
}
