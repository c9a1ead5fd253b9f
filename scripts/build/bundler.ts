// Builds the JavaScript of esbuild-wasm so that it sends messages by microtask instead of `setTimeout`: a timer costs
// two milliseconds in workerd, and each import of a build several timers.

import { build } from "esbuild";

const SHIM = `
export const soon = (callback, ms) =>
  ms ? globalThis.setTimeout(callback, ms) : void queueMicrotask(callback);
`;

export async function buildBundler(outdir: string) {
  await build({
    stdin: { contents: 'export * from "esbuild-wasm/esm/browser.js";', resolveDir: "." },
    outfile: `${outdir}/browser.js`,
    bundle: true,
    format: "esm",
    define: { setTimeout: "soon" },
    plugins: [
      {
        name: "shim",
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /^soon-shim$/ }, ({ path }) => ({ path, namespace: "shim" }));
          onLoad({ filter: /.*/, namespace: "shim" }, () => ({ contents: SHIM }));
        },
      },
    ],
    inject: ["soon-shim"],
    logLevel: "error",
  });
}
