// Bundles the code that runs beside every agent: one text for each kind of agent, the globals, and a replacement of
// Ajv. The builder bundles it with the agent's code.
import { join, relative } from "node:path";
import { type BuildOptions, build, type Plugin } from "esbuild";

const ROOT = "src/isolate";
/** Modules that the globals export. They have state, so agents have one instance of them. */
const SHARED = ["globals/pending-work.ts", "globals/server.ts", "tcp/calls.ts"];

const shareGlobals: Plugin = {
  name: "share-globals",
  setup({ onResolve }) {
    onResolve({ filter: /\.ts$/ }, ({ path, resolveDir }) => {
      const file = relative(ROOT, join(resolveDir, path));
      return SHARED.includes(file) ? { path: "heddle:globals", external: true } : null;
    });
  },
};

export async function buildIsolate(outdir: string) {
  const agents = ["langgraph-agent", "early-langgraph-agent", "plain-agent"];
  await Promise.all([
    buildEntries(["globals", "ajv"], { outdir }),
    buildEntries(agents, { outdir, plugins: [shareGlobals] }),
  ]);
}

async function buildEntries(names: string[], options: BuildOptions) {
  await build({
    ...options,
    entryPoints: names.map((name) => `${ROOT}/entries/${name}.ts`),
    outExtension: { ".js": ".txt" },
    bundle: true,
    format: "esm",
    platform: "neutral",
    target: "es2024",
    external: ["heddle:*", "cloudflare:*", "node:*", "@langchain/*", "zod", "zod/*"],
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    logLevel: "error",
  });
}
