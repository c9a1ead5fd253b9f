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

const SCRIPTS = {
  extensions: [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json"],
  extensionAlias: {
    ".js": [".js", ".ts", ".tsx"],
    ".jsx": [".jsx", ".tsx"],
    ".mjs": [".mjs", ".mts"],
    ".cjs": [".cjs", ".cts"],
  },
  extensionAliasForExports: true,
  mainFields: ["module", "main"],
};

const BROWSER_CONDITIONS = {
  import: ["browser", "import", "module"],
  require: ["browser", "require", "module"],
  style: ["style", "browser"],
};

/** Tried after the others: packages without a condition for isolates may have a file that runs there. */
const LAST_RESORTS = ["browser", "node"];

export function createResolver({ tsconfig, platform, ...packages }: ResolverOptions): Resolver {
  const resolvers = new Map<string, ReturnType<typeof diskResolver>>();
  const resolve = (conditionNames: string[], specifier: string, directory: string) => {
    const key = conditionNames.join();
    const resolver = resolvers.get(key) ?? diskResolver(packages, { ...SCRIPTS, conditionNames });
    resolvers.set(key, resolver);
    return resolver(specifier, directory);
  };
  const resolveAlias = (conditions: string[], specifier: string, directory: string) => {
    const paths = isSource(directory) ? aliasesOf(tsconfig, specifier) : [];
    const found = paths.map((path) => resolve(conditions, path, directory));
    return found.find(({ type }) => type === "file");
  };
  return (specifier, directory, kind) => {
    if (specifier.length > SPECIFIER_CHARACTERS) return tooLong(specifier);
    const [conditions, ...others] = conditionsOf(kind, platform);
    const isDirect = /^\.{0,2}(\/|$)/.test(specifier) || packages.isBuiltin(specifier);
    const alias = isDirect ? undefined : resolveAlias(conditions, specifier, directory);
    return (isDirect ? [] : others).reduce(
      (resolved, names) =>
        resolved.type === "error" ? resolve(names, specifier, directory) : resolved,
      alias ?? resolve(conditions, specifier, directory),
    );
  };
}

/** `paths` of tsconfig.json apply to the source, not to packages. */
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
