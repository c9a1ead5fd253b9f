// The code that the builder loads into the isolate of each build, as one module. Texts and esbuild's wasm are
// modules beside it, which the loader takes as they are.
import { isBuiltin } from "node:module";
import { basename } from "node:path";
import { build, type Plugin } from "esbuild";

export async function buildBuildIsolate(outdir: string) {
  await build({
    entryPoints: { build: "src/control-plane/builds/bundle/isolate.ts" },
    outdir,
    outExtension: { ".js": ".txt" },
    bundle: true,
    format: "esm",
    platform: "neutral",
    target: "es2024",
    mainFields: ["module", "main"],
    conditions: ["workerd", "worker", "import"],
    alias: { "esbuild-wasm/esm/browser.js": "./dist/bundler/browser.js" },
    external: ["node:*", "cloudflare:*"],
    banner: { js: REQUIRE },
    plugins: [modules],
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    logLevel: "error",
  });
}

/** CommonJS packages require Node's modules. */
const REQUIRE = `import { createRequire } from "node:module"; const require = createRequire("/");`;

/** Must match the names in src/builder.ts. */
const modules: Plugin = {
  name: "modules",
  setup({ onResolve }) {
    onResolve({ filter: /\.(txt|wasm)$/ }, ({ path }) => ({
      path: `./${basename(path)}`,
      external: true,
    }));
    onResolve({ filter: /^[a-z_]+(\/[a-z_]+)?$/ }, ({ path }) =>
      isBuiltin(path) ? { path: `node:${path}`, external: true } : undefined,
    );
  },
};
