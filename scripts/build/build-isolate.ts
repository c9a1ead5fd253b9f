// Bundles the code that the builder loads into the isolate of each build. Texts and esbuild's wasm are not bundled: the
// loader gets them as modules beside it.
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
    plugins: [externalModules],
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    logLevel: "error",
  });
}

/** CommonJS packages load Node's modules by `require`, which an ES module does not have. */
const REQUIRE = `import { createRequire } from "node:module"; const require = createRequire("/");`;

/**
 * Keeps imports of texts, of wasm and of Node's modules as imports. The names of texts and wasm must match `MODULES` of
 * builds/queue/build-isolate.ts.
 */
const externalModules: Plugin = {
  name: "external-modules",
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
