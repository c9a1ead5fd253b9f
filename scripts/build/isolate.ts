// Bundles the code that runs beside every agent: one text for each kind of agent, and the globals. The builder bundles
// it with the agent's code.
import { build } from "esbuild";

export async function buildIsolate(outdir: string) {
  await build({
    entryPoints: ["langgraph-agent", "early-langgraph-agent", "plain-agent", "globals"].map(
      (n) => `src/isolate/entries/${n}.ts`,
    ),
    outdir,
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
