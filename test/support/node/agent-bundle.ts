import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type BuildOptions, build } from "esbuild";
import { stateTypes } from "../../../src/control-plane/builds/types/state-types.ts";
import { TEST_GRAPHS, TEST_STORE } from "../test-graphs.ts";

/**
 * The agent of test/fixtures/agents as the builder would make it: the harness of src/isolate with
 * the graphs beside it, one module. Made by the native esbuild, so that tests of threads need no build.
 */
export function bundleTestAgent(): Promise<string> {
  return bundleGraphs(resolve("test/fixtures/agents/graphs.ts"), TEST_GRAPHS);
}

/** The same harness around an agent that calls the host of its run itself, which it captures from the first call on. */
export function bundleHostileAgent(): Promise<string> {
  const early = `import ${JSON.stringify(resolve("test/fixtures/hostile/host.ts"))};`;
  return bundleGraphs(resolve("test/fixtures/hostile/graphs.ts"), ["hostile", "lost"], [early]);
}

/** The agent of the frozen artifacts, small and without anything of other tests. */
export function bundleFrozenAgent(): Promise<string> {
  const agent = [
    `import ${JSON.stringify(resolve("src/isolate/entries/globals.ts"))};`,
    `const load = ${loadText("test/fixtures/artifacts/agent.ts")};`,
    `export const graphs = { frozen: { load, export_name: "frozen", description: null } };`,
    "export const [auth, app, types] = [null, null, {}];",
    "export const store = { index: null, ttl: { default_ms: null, refresh_on_read: true } };",
  ];
  return bundle(agent, { minify: true, keepNames: true, legalComments: "none" });
}

/** `early`: lines that are evaluated while the isolate starts. */
async function bundleGraphs(
  module: string,
  names: string[],
  early: string[] = [],
): Promise<string> {
  const entries = names.map(
    (name) => `${name}: { load, export_name: "${name}", description: null }`,
  );
  const { dims, fields } = TEST_STORE.index;
  const index = `{ load: ${loadText("test/fixtures/agents/embed.ts")}, export_name: "embed", ...${JSON.stringify({ dims, fields })} }`;
  const store = `{ index: ${index}, ttl: { default_ms: null, refresh_on_read: true } }`;
  const types = stateTypes([await readFile(module, "utf8")]);
  return bundle([
    `import ${JSON.stringify(resolve("src/isolate/entries/globals.ts"))};`,
    ...early,
    `const load = ${loadText(module)};`,
    `export const auth = { load: ${loadText("test/fixtures/agents/auth.ts")}, export_name: "auth" };`,
    `export const app = { load: ${loadText("test/fixtures/agents/app.ts")}, export_name: "app" };`,
    `export const graphs = { ${entries.join(", ")} };`,
    `export const store = ${store};`,
    `export const types = ${JSON.stringify(types)};`,
  ]);
}

function loadText(path: string): string {
  return `() => import(${JSON.stringify(resolve(path))})`;
}

/** `agent`: lines of the module `heddle:graphs`. */
async function bundle(agent: string[], options: BuildOptions = {}): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: ["src/isolate/entries/langgraph-agent.ts"],
    bundle: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["workerd", "worker", "import"],
    external: ["node:*", "cloudflare:*"],
    ...options,
    write: false,
    plugins: [
      {
        name: "graphs",
        setup(pluginBuild) {
          pluginBuild.onResolve({ filter: /^heddle:graphs$/ }, () => ({
            path: "graphs",
            namespace: "heddle",
          }));
          pluginBuild.onLoad({ filter: /.*/, namespace: "heddle" }, () => ({
            contents: agent.join("\n"),
            resolveDir: process.cwd(),
          }));
        },
      },
    ],
  });
  const [output] = outputFiles;
  if (!output) throw new Error("esbuild gave no output");
  return output.text;
}
