import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GitHost, startGitHost } from "../../local/git/git-host.ts";
import { commitFolder } from "../../local/git/repositories.ts";
import {
  type Artifact,
  type BuildOrder,
  type BuildOutcome,
  type BuildSource,
  CONTRACT,
} from "../../src/control-plane/builds/contract.ts";
import { LANGGRAPH_LINES } from "../support/langgraph-lines.ts";
import { startFaultProxy } from "../support/node/fault-proxy.ts";
import { type BuilderHarness, type Built, startBuilder } from "./support/builder.ts";

type Files = Record<string, string>;

const run = promisify(execFile);
const TOKEN = "read-token";

let folder: string;
let registry_url: string;
let host: GitHost;
let plainHost: GitHost;
let builder: BuilderHarness;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-builds-"));
  registry_url = (await run("npm", ["config", "get", "registry"])).stdout.trim();
  host = await startGitHost({ root: join(folder, "repositories"), tokens: [TOKEN] });
  plainHost = await startGitHost({ root: join(folder, "repositories"), archives: false });
  builder = await startBuilder();
});

afterAll(async () => {
  await builder.close();
  await Promise.all([host.close(), plainHost.close()]);
  await rm(folder, { recursive: true, force: true });
});

/** Exports `add(a, b)`. */
const ADD_WASM = "AGFzbQEAAAABBwFgAn9/AX8DAgEABwcBA2FkZAAACgkBBwAgACABags=";
const FUNCTION_AGENT = "export async function* agent(input) { yield { heard: input }; }\n";

/** A repository with these files; answers its name. */
async function repository(files: Files, owner = "acme"): Promise<string> {
  const name = `${owner}/r${crypto.randomUUID().slice(0, 8)}`;
  const work = join(folder, "work", name);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(work, path)), { recursive: true });
    await writeFile(join(work, path), content);
  }
  await mkdir(join(folder, "repositories", owner), { recursive: true });
  await commitFolder(work, join(folder, "repositories", `${name}.git`));
  return name;
}

function config(graphs: unknown): string {
  return JSON.stringify({ graphs });
}

function agentFiles(files: Files = {}): Files {
  return {
    "langgraph.json": config({ agent: "./agent.js:agent" }),
    "agent.js": FUNCTION_AGENT,
    ...files,
  };
}

type GitOptions = { ref?: string; token?: string; at?: GitHost; order?: Partial<BuildOrder> };

function buildRepository(name: string, { ref = "main", token, at = host, order }: GitOptions = {}) {
  const repo_url = `${at.url}/${name}`;
  return build({ kind: "git", repo_url, repo_ref: ref, token: token ?? null }, order);
}

function build(source: BuildSource, order: Partial<BuildOrder> = {}): Promise<Built> {
  return builder.build({
    deployment_id: crypto.randomUUID(),
    revision_id: crypto.randomUUID(),
    source,
    config_path: "langgraph.json",
    registry_url,
    allow_private: true,
    ...order,
  });
}

async function buildFiles(files: Files, order: Partial<BuildOrder> = {}): Promise<Built> {
  return buildRepository(await repository(files), { order });
}

async function buildTarball(entries: Parameters<typeof packTar>[0]): Promise<Built> {
  const object_key = `uploads/${crypto.randomUUID()}.tar.gz`;
  await builder.store(object_key, gzipSync(await packTar(entries)));
  return build({ kind: "tarball", object_key });
}

function deployed({ outcome }: Built): Extract<BuildOutcome, { ok: true }> {
  if (!outcome.ok) throw new Error(`${outcome.reason}: ${outcome.message}`);
  return outcome;
}

function failed({ outcome }: Built): Extract<BuildOutcome, { ok: false }> {
  if (outcome.ok) throw new Error("The build did not fail.");
  return outcome;
}

function textOf({ lines }: Built): string {
  return lines.map(({ level, message }) => `${level} ${message}`).join("\n");
}

/** The chat example, with changes to its package.json and lockfile. */
async function chatRepository(change: (lock: Lock, manifest: Manifest) => void): Promise<string> {
  const name = `acme/chat${crypto.randomUUID().slice(0, 8)}`;
  const work = join(folder, "work", name);
  await cp("examples/chat", work, {
    recursive: true,
    filter: (path) => !path.includes("node_modules"),
  });
  const read = async (file: string) => JSON.parse(await readFile(join(work, file), "utf8"));
  const [lock, manifest] = [await read("package-lock.json"), await read("package.json")];
  change(lock, manifest);
  await writeFile(join(work, "package-lock.json"), JSON.stringify(lock));
  await writeFile(join(work, "package.json"), JSON.stringify(manifest));
  await mkdir(join(folder, "repositories/acme"), { recursive: true });
  await commitFolder(work, join(folder, "repositories", `${name}.git`));
  return name;
}

type Lock = {
  packages: Record<string, { version: string; integrity?: string; dependencies?: Files }>;
};
type Manifest = { dependencies: Files };

const ZOD = {
  version: "4.6.6",
  integrity:
    "sha512-4UmzQUF5fxvfcYHlbjBmejU+w+hbDnWFx4aS8kBx7nPBHcO2SqPbpAG8snbdg+Xse4pRefR98hgjFgIMCI/UhA==",
};

test("a LangGraph agent of the prebuilt versions is built without fetching a package", async () => {
  const built = await buildRepository(await chatRepository(() => undefined));
  const outcome = deployed(built);
  expect(outcome.repo_commit_sha).toMatch(/^[0-9a-f]{40}$/);
  expect(outcome.config.graphs).toMatchObject({ chat: { path: "src/agent.ts" } });
  expect(textOf(built)).toContain("LangGraph 1.7.3 is prebuilt");
  expect(textOf(built)).not.toContain("Installed");
  expect(await builder.describe(outcome.artifact_key)).toMatchObject({
    ok: true,
    value: [{ graph_id: "chat", kind: "graph", nodes: expect.arrayContaining(["model", "tools"]) }],
  });
});

test("a version without prebuilt modules is bundled, and prebuilt for later builds", async () => {
  const name = await chatRepository((lock, manifest) => {
    Object.assign(lock.packages["node_modules/zod"] ?? {}, ZOD);
    Object.assign(lock.packages[""]?.dependencies ?? {}, { zod: ZOD.version });
    manifest.dependencies.zod = ZOD.version;
  });
  const first = await buildRepository(name);
  expect(textOf(first)).toContain(`takes longer: zod ${ZOD.version} not prebuilt yet`);
  expect(await builder.describe(deployed(first).artifact_key)).toMatchObject({ ok: true });
  const { lacking } = deployed(first);
  expect(lacking).toEqual([{ name: "zod", version: ZOD.version }]);
  for (const version of lacking) {
    await builder.prebuild({ ...version, registry_url, allow_private: true });
  }
  const later = await buildRepository(name);
  expect(textOf(later)).toContain("LangGraph 1.7.3 is prebuilt");
  expect(deployed(later).lacking).toEqual([]);
  expect(textOf(later)).not.toContain("Installed");
  expect(await builder.describe(deployed(later).artifact_key)).toMatchObject({ ok: true });
});

test("nested packages are installed and bundled, and come from the cache the next time", async () => {
  const name = await chatRepository((lock) => {
    lock.packages["node_modules/@langchain/core/node_modules/zod"] = ZOD;
  });
  const first = await buildRepository(name);
  expect(textOf(first)).toContain("takes longer: packages are nested");
  expect(await builder.describe(deployed(first).artifact_key)).toMatchObject({ ok: true });
  const second = await buildRepository(name);
  expect(textOf(second)).toMatch(/Installed \d+ packages \(\d+ from the cache;/);
  expect(second.outcome.ok).toBe(true);
});

test.each(LANGGRAPH_LINES)(
  "LangGraph %s with core %s and checkpoint %s is prebuilt",
  async (langgraph, core, checkpoint) => {
    const dependencies = {
      "@langchain/langgraph": langgraph,
      "@langchain/core": core,
      "@langchain/langgraph-checkpoint": checkpoint,
    };
    const built = await buildFiles({
      "langgraph.json": config({ agent: "./graph.ts:graph" }),
      "package.json": JSON.stringify({ dependencies }),
      "graph.ts": await readFile("bench/agent/graph.ts", "utf8"),
    });
    const outcome = deployed(built);
    expect(textOf(built)).toContain(`LangGraph ${langgraph} is prebuilt`);
    expect(textOf(built)).not.toContain("Installed");
    expect(await builder.describe(outcome.artifact_key)).toMatchObject({
      ok: true,
      value: [{ graph_id: "agent", nodes: expect.arrayContaining(["reply"]) }],
    });
  },
);

test("the SDK that package.json names is prebuilt, and what needs React is bundled", async () => {
  const agent = `import { Auth } from "@langchain/langgraph-sdk/auth";
    import { useStream } from "@langchain/langgraph-sdk/react";
    export async function agent() { return { auth: typeof Auth, hook: typeof useStream }; }`;
  const built = await buildFiles(
    agentFiles({
      "agent.js": agent,
      "package.json": JSON.stringify({
        dependencies: {
          "@langchain/langgraph-sdk": "1.15.0",
          react: "19.3.1",
          "react-dom": "19.3.1",
        },
      }),
    }),
  );
  const { artifact_key } = deployed(built);
  const { modules, contract } = JSON.parse(await builder.read(artifact_key)) as Artifact;
  expect(contract).toBe(CONTRACT);
  expect(Object.keys(modules)).toContain("rt/langchain.langgraph-sdk.auth.js");
  expect(modules["main.js"]).toContain("useStream");
  expect(await builder.describe(artifact_key)).toMatchObject({ ok: true });
});

test("without a lockfile versions are chosen from package.json", async () => {
  const built = await buildFiles(
    agentFiles({
      "package.json": JSON.stringify({ dependencies: { ms: "^2.1.0" } }),
      "agent.js":
        'import ms from "ms";\nexport async function agent() { return { day: ms("1d") }; }\n',
    }),
  );
  deployed(built);
  expect(textOf(built)).toMatch(/WARNING No lockfile: chose 1 package from package.json/);
  expect(textOf(built)).toMatch(/Chosen: ms@2\.\d/);
});

test("without a lockfile a later build has the versions of the first", async () => {
  const files = (range: string) =>
    agentFiles({
      "package.json": JSON.stringify({ dependencies: { ms: range } }),
      "agent.js": 'import ms from "ms";\nexport async function agent() { return ms("1d"); }\n',
    });
  const deployment_id = crypto.randomUUID();
  await buildFiles(files("^2.0.0"), { deployment_id });
  const key = `resolutions/${deployment_id}`;
  const older = { path: "/node_modules/ms", name: "ms", version: "2.0.0", needs: [] };
  const url = `${registry_url.replace(/\/?$/, "/")}ms/-/ms-2.0.0.tgz`;
  const [recorded = ""] = await builder.list(key);
  await builder.store(recorded, new TextEncoder().encode(JSON.stringify([{ ...older, url }])));
  const again = await buildFiles(files("^2.0.0"), { deployment_id });
  expect(textOf(again)).toContain("1 package as in the first build with this package.json");
  expect(textOf(again)).toContain("Chosen: ms@2.0.0");
  expect(textOf(await buildFiles(files("^2.1.0"), { deployment_id }))).toMatch(/Chosen: ms@2\.1/);
  expect(textOf(await buildFiles(files("^2.0.0")))).toMatch(/Chosen: ms@2\.[^0]/);
});

/** The monorepo of test/fixtures/locks: its root and the package that it links need two versions of ms. */
const MONOREPO_AGENT = `
import camelcase from "lodash-alias";
import own from "ms/package.json" with { type: "json" };
import tools from "tool";
const found = [own.version, tools, camelcase("two words")].join();
if (found !== "2.1.2,2.0.0,twoWords") throw new Error("found " + found);
export async function* agent() { yield found; }
`;

test.each([
  ["yarn 1", "yarn.lock", "yarn-1", "1.0.0"],
  ["yarn 4", "yarn.lock", "yarn-4", "workspace:*"],
  ["pnpm", "pnpm-lock.yaml", "pnpm-9", "workspace:*"],
  ["bun", "bun.lock", "bun-2", "workspace:*"],
])("a monorepo of %s has the versions of its lockfile", async (manager, file, lock, tool) => {
  const dependencies = {
    ms: "2.1.2",
    debug: "4.3.4",
    tool,
    "lodash-alias": "npm:lodash.camelcase@^4.3.0",
  };
  const devDependencies = { "is-odd": "3.0.1" };
  const root = { name: "root", private: true, type: "module", dependencies, devDependencies };
  const workspaces = ["packages/*"];
  const built = await buildFiles({
    "langgraph.json": config({ agent: "./agent.js:agent" }),
    "agent.js": MONOREPO_AGENT,
    [file]: await readFile(`test/fixtures/locks/${lock}.lock.txt`, "utf8"),
    ...(manager === "pnpm" ? { "pnpm-workspace.yaml": "packages:\n  - packages/*\n" } : {}),
    "package.json": JSON.stringify(manager === "pnpm" ? root : { ...root, workspaces }),
    "packages/tool/package.json": JSON.stringify({
      name: "tool",
      version: "1.0.0",
      type: "module",
      main: "index.js",
      dependencies: { ms: "2.0.0", "@sindresorhus/is": "6.3.1" },
      optionalDependencies: { fsevents: "2.3.3" },
    }),
    "packages/tool/index.js": `
      import is from "@sindresorhus/is";
      import own from "ms/package.json" with { type: "json" };
      export default is.string(own.version) ? own.version : "unknown";
    `,
  });
  expect(await builder.describe(deployed(built).artifact_key)).toMatchObject({ ok: true });
});

test("a plain generator needs no package.json", async () => {
  const agent = `import { shout } from "./shout.js";\n${FUNCTION_AGENT}export { shout };`;
  const shout = "export const shout = (text) => text.toUpperCase();\n";
  const files = agentFiles({ "agent.js": agent, "shout.js": shout });
  const outcome = deployed(await buildFiles(files));
  expect(await builder.describe(outcome.artifact_key)).toMatchObject({
    ok: true,
    value: [{ graph_id: "agent", kind: "function" }],
  });
});

test("an agent reads files of its repository, and imports text and WebAssembly", async () => {
  const agent = `
    import { readFileSync } from "node:fs";
    import add from "./add.wasm";
    import prompt from "./a.prompt" with { type: "text" };
    const read = [
      readFileSync(new URL("./prompt.txt", import.meta.url), "utf8"),
      readFileSync("notes.md", "utf8"),
      import.meta.dirname,
      import.meta.filename,
      new WebAssembly.Instance(add).exports.add(2, 3),
      prompt,
    ].join("|");
    if (read !== "hello|top|/bundle/src|/bundle/src/agent.ts|5|P") throw new Error(read);
    export async function agent() { return {}; }`;
  const wasm = Buffer.from(ADD_WASM, "base64");
  const texts = {
    "langgraph.json": config({ agent: "./src/agent.ts:agent" }),
    "src/agent.ts": agent,
    "src/prompt.txt": "hello",
    "src/a.prompt": "P",
    "notes.md": "top",
  };
  const entries = Object.entries({ ...texts, "src/add.wasm": wasm }).map(([name, content]) => {
    const body = Buffer.from(content);
    return { header: { name, size: body.byteLength }, body };
  });
  const { artifact_key } = deployed(await buildTarball(entries));
  expect(await builder.describe(artifact_key)).toMatchObject({ ok: true });
});

test("an agent's working directory is the folder of its langgraph.json", async () => {
  const agent = `
    import { readFileSync } from "node:fs";
    const read = [process.cwd(), readFileSync("prompts/a.txt", "utf8"), readFileSync("../b/b.txt", "utf8")].join("|");
    if (read !== "/bundle/apps/a|hello|next") throw new Error(read);
    export async function agent() { return {}; }`;
  const files = {
    "apps/a/langgraph.json": config({ agent: "./agent.ts:agent" }),
    "apps/a/agent.ts": agent,
    "apps/a/prompts/a.txt": "hello",
    "apps/b/b.txt": "next",
  };
  const { artifact_key } = deployed(
    await buildFiles(files, { config_path: "apps/a/langgraph.json" }),
  );
  expect(await builder.describe(artifact_key)).toMatchObject({ ok: true });
});

test("a file that a build leaves out is named when it is imported with attributes", async () => {
  const agent = `import prompt from "./a.unknown" with { type: "text" };
    export async function agent() { return { prompt }; }`;
  const files = agentFiles({ "agent.js": agent, "a.unknown": "P" });
  const { message } = failed(await buildFiles(files));
  expect(message).toContain("a.unknown cannot be imported with attributes");
});

test("calls that throw on Workers are warnings with file and line", async () => {
  const agent = `import { spawn } from "node:child_process";
    export async function agent(input) {
      new Function("return 1");
      eval("1");
      await import(input.path);
      await WebAssembly.compile(input.bytes);
      spawn("ls");
    }`;
  const text = textOf(await buildFiles(agentFiles({ "agent.js": agent })));
  for (const [line, what] of [
    [1, 'calls of "node:child_process" throw'],
    [3, "new Function() throws"],
    [4, "direct eval"],
    [5, '"import" expression will not be bundled'],
    [6, "compile no WebAssembly at run time"],
  ]) {
    expect(text).toContain(`WARNING agent.js:${line}:`);
    expect(text).toContain(`${what}`);
  }
});

test("transformers of a graph are a warning with file and line", async () => {
  const agent = `const graph = { compile: (options) => options };
    graph.compile({ checkpointer: null });
    graph.compile({
      name: "agent",
      transformers: [],
    });
    export async function agent() { return {}; }`;
  const text = textOf(await buildFiles(agentFiles({ "agent.js": agent })));
  expect(text.match(/WARNING agent\.js:\d+:/g)).toEqual(["WARNING agent.js:5:"]);
  expect(text).toContain("transformers are not run");
});

test("TypeScript, tsconfig paths, JSX, JSON and CommonJS with a builtin are bundled", async () => {
  const built = await buildFiles({
    "langgraph.json": config({
      agent: { path: "./src/agent.tsx:agent", description: "All kinds" },
    }),
    "tsconfig.json": `{
      // comments are fine
      "compilerOptions": { "paths": { "@/*": ["./src/*"] }, "jsx": "react", "jsxFactory": "h", },
    }`,
    "src/agent.tsx": `import { h } from "@/h";
      import data from "./data.json";
      import { Emitter } from "./legacy.cjs";
      const enum Kind { A = 1 }
      export async function agent() { new Emitter(); return { element: <b>{data.name}</b>, kind: Kind.A }; }`,
    "src/h.ts": "export const h = (name: string, _: unknown, child: string) => name + child;",
    "src/data.json": '{"name": "x"}',
    "src/legacy.cjs":
      'const { EventEmitter } = require("events");\nexports.Emitter = EventEmitter;',
  });
  const outcome = deployed(built);
  expect(await builder.describe(outcome.artifact_key)).toMatchObject({ ok: true });
});

test("builds side by side do not mix", async () => {
  const ids = Array.from({ length: 6 }, (_, index) => `agent${index}`);
  const outcomes = await Promise.all(
    ids.map(async (id) => {
      const files = agentFiles({ "langgraph.json": config({ [id]: "./agent.js:agent" }) });
      return deployed(await buildFiles(files));
    }),
  );
  for (const [index, { artifact_key }] of outcomes.entries()) {
    const described = await builder.describe(artifact_key);
    expect(described).toMatchObject({ value: [{ graph_id: ids[index] }] });
  }
});

test("a Python graph is refused with what works", async () => {
  const built = await buildFiles({
    "langgraph.json": config({ a: "./agent.py:graph" }),
    "agent.py": "",
  });
  expect(failed(built)).toEqual({
    ok: false,
    reason: "unsupported_language",
    message:
      'Heddle runs JavaScript and TypeScript graphs (.js, .mjs, .ts, .tsx ...); graph "a" is Python (agent.py).',
  });
  expect(textOf(built)).toContain("ERROR Heddle runs JavaScript");
});

test("a config that is not JSON is refused with line and column", async () => {
  const { reason, message } = failed(
    await buildFiles({ "langgraph.json": '{\n  "graphs": {\n  },,\n}' }),
  );
  expect(reason).toBe("config_invalid");
  expect(message).toBe('langgraph.json:3:5: not JSON: expected a key in double quotes, found ",".');
});

test("a config elsewhere is pointed at", async () => {
  const { reason, message } = failed(await buildFiles({ "apps/a/langgraph.json": "{}" }));
  expect(reason).toBe("config_not_found");
  expect(message).toContain("apps/a/langgraph.json");
});

test("a graph path that does not exist is refused with the paths that exist", async () => {
  const files = agentFiles({ "langgraph.json": config({ agent: "./src/agnet.ts:graph" }) });
  const { reason, message } = failed(await buildFiles(files));
  expect(reason).toBe("graph_not_found");
  expect(message).toBe(
    'langgraph.json: graph "agent" is in src/agnet.ts, which does not exist. There is agent.js.',
  );
});

test("a missing import passes where the source handles it", async () => {
  const agent = `
    const bun = await import("bun").catch(() => "no bun");
    async function found() {
      const missing = [];
      try { await import("left-pad"); } catch { missing.push("left-pad"); }
      try { await import("./generated.js"); } catch { missing.push("./generated.js"); }
      return { bun, missing };
    }
    export async function agent() { return found(); }
  `;
  const built = await buildFiles(agentFiles({ "agent.js": agent }));
  const { artifact_key } = deployed(built);
  expect(await builder.describe(artifact_key)).toMatchObject({ ok: true });
  expect(textOf(built)).toMatch(
    /WARNING agent\.js:2:\d+: Could not resolve "bun": the package "bun" is not installed/,
  );
  expect(textOf(built)).toMatch(
    /WARNING agent\.js:6:\d+: Could not resolve "\.\/generated\.js": the file does not exist/,
  );
});

test("a path that is known at run time only is a warning, and its import throws", async () => {
  const agent = `
    const load = async (name) => import(\`./tools/\${name}.js\`);
    const lookUp = async (name) => require("./locale/" + name);
    const failed = async (work) => { try { await work("x"); } catch (error) { return error.message; } };
    export async function agent() { return [await failed(load), await failed(lookUp)]; }
  `;
  const built = await buildFiles(agentFiles({ "agent.js": agent }));
  const { artifact_key } = deployed(built);
  expect(await builder.describe(artifact_key)).toMatchObject({ ok: true });
  for (const line of [2, 3]) {
    const place = new RegExp(
      `WARNING agent\\.js:${line}:\\d+: A build bundles imports of literal paths`,
    );
    expect(textOf(built)).toMatch(place);
  }
});

test.each([
  ["module", "whole"],
  ["commonjs", "default"],
])("a default import of CommonJS in a project of type %s is its %s", async (type, expected) => {
  const transpiled = `Object.defineProperty(exports, "__esModule", { value: true });
    exports.name = "whole";
    exports.default = { name: "default" };`;
  const agent = `
    import dependency from "./dependency.cjs";
    if (dependency.name !== "${expected}") throw new Error(dependency.name);
    ${FUNCTION_AGENT}
  `;
  const files = { "package.json": JSON.stringify({ type }), "dependency.cjs": transpiled };
  const built = await buildFiles(agentFiles({ ...files, "agent.js": agent }));
  const { artifact_key } = deployed(built);
  expect(await builder.describe(artifact_key)).toMatchObject({ ok: true });
});

test("a file has the names of CommonJS", async () => {
  const own = 'const __dirname = "mine";\nexport const declared = __dirname;\n';
  const agent = `
    import { declared } from "./own.js";
    if (require.main === module) throw new Error("This is no program.");
    if (declared !== "mine" || __dirname !== "/bundle" || __filename !== "/bundle/agent.js")
      throw new Error([declared, __dirname, __filename].join());
    ${FUNCTION_AGENT}
  `;
  const built = await buildFiles(agentFiles({ "agent.js": agent, "own.js": own }));
  const { artifact_key } = deployed(built);
  expect(await builder.describe(artifact_key)).toMatchObject({ ok: true });
});

test("a missing import on demand that nothing handles is named with file and line", async () => {
  const agent = `export const agent = async () => import("left-pad");`;
  const { reason, message } = failed(await buildFiles(agentFiles({ "agent.js": agent })));
  expect(reason).toBe("dependency_unresolved");
  expect(message).toMatch(
    /^agent\.js:1:\d+: Could not resolve "left-pad": the package "left-pad" is not installed/,
  );
});

test("a package that is not installed is named with file and line", async () => {
  const agent = `import missing from "left-pad";\n${FUNCTION_AGENT}export { missing };`;
  const built = await buildFiles(agentFiles({ "agent.js": agent }));
  const { reason, message } = failed(built);
  expect(reason).toBe("dependency_unresolved");
  expect(message).toMatch(
    /^agent\.js:1:\d+: Could not resolve "left-pad": the package "left-pad" is not installed/,
  );
  expect(textOf(built)).toContain(`ERROR ${message}`);
});

test("what a package can do without is missed only where it is used", async () => {
  const files = agentFiles({
    "package.json": JSON.stringify({ dependencies: { debug: "4.4.3", langsmith: "0.10.5" } }),
    "agent.js": `import debug from "debug";
      import { Sandbox } from "langsmith/sandbox";
      export async function agent() { debug("agent")("runs"); return { name: Sandbox.name }; }`,
  });
  const outcome = deployed(await buildFiles(files));
  expect(await builder.describe(outcome.artifact_key)).toMatchObject({ ok: true });
});

describe("components", () => {
  const withUi = (files: Record<string, string>) =>
    buildFiles(
      agentFiles({
        "langgraph.json": JSON.stringify({
          graphs: { agent: "./agent.js:agent" },
          ui: { "my agent": "./ui.tsx" },
          ui_config: { shared: ["zustand"] },
        }),
        ...files,
      }),
    );

  test("are bundled for browsers, without what the page has", async () => {
    const built = await withUi({
      "package.json": JSON.stringify({ dependencies: { nanoid: "5.1.5" } }),
      "ui.tsx": `import { nanoid } from "nanoid";
        import { create } from "zustand";
        import "./ui.css";
        export default { card: () => <b>{nanoid()}{String(create)}</b> };`,
      "ui.css": '.a { background: url("./dot.svg") }',
      "dot.svg": "<svg/>",
    });
    const { artifact_key } = deployed(built);
    const bundles = JSON.parse(await builder.read(artifact_key.replace(".json", ".ui.json")));
    const { "entrypoint.js": script, "entrypoint.css": styles } = bundles["my agent"];
    expect(script).toContain("var __LGUI_my_agent =");
    expect(script).toContain('globalThis[Symbol.for("LGUI_REQUIRE")]');
    for (const shared of ["react/jsx-runtime", "zustand"]) {
      expect(script).toContain(`__require("${shared}")`);
    }
    // The package's own build for browsers: that for Node imports from node:crypto.
    expect(script).toContain("crypto.getRandomValues");
    expect(script).not.toContain("node:");
    expect(styles).toContain("data:image/svg+xml");
    expect(textOf(built)).toMatch(/Bundled the components of 1 agent/);
  });

  test("have the styles that Tailwind makes of their classes", async () => {
    const built = await withUi({
      "ui.tsx": `import "./styles/ui.css";
        export default { card: () => <b className="p-4 hover:underline w-[3px] brand">x</b> };`,
      "styles/ui.css": `@import "tailwindcss";
        @import "./theme.css";
        .brand { @apply font-bold text-brand; }`,
      "styles/theme.css": "@theme { --color-brand: rgb(1, 2, 3); }",
    });
    const { artifact_key } = deployed(built);
    const bundles = JSON.parse(await builder.read(artifact_key.replace(".json", ".ui.json")));
    const styles: string = bundles["my agent"]["entrypoint.css"];
    expect(styles).toMatch(/\.p-4 \{\s*padding: calc\(var\(--spacing\) \* 4\)/);
    expect(styles).toMatch(/\.w-\\\[3px\\\] \{\s*width: 3px/);
    expect(styles).toContain("--color-brand:");
    expect(styles).toMatch(/\.brand \{[^}]*font-weight/);
    expect(styles).not.toContain("@apply");
    expect(styles).not.toContain(".p-8");
  });

  test.each([
    [
      "ui.tsx",
      'import fs from "node:fs";\nexport default { fs };',
      /ui\.tsx:1:\d+: No browser has node:fs/,
    ],
    [
      "ui.tsx",
      'import logo from "./logo.png";\nexport default { logo };',
      /ui\.tsx:1:\d+: logo\.png is larger than 524 kB/,
    ],
    [
      "ui.css",
      '@import "tailwindcss";\n@plugin "./plugin.js";',
      /ui\.css: "\.\/plugin\.js" is code, which builds do not run/,
    ],
    ["ui.tsx", "export default {", /ui\.tsx:1:\d+: /],
    [
      "ui.tsx",
      'import x from "gone";\nexport default { x };',
      /the package "gone" is not installed/,
    ],
  ])("that cannot be bundled are refused with the reason", async (name, text, expected) => {
    const sheet = 'import "./ui.css";\nexport default {};';
    const files = { "ui.tsx": sheet, [name]: text, "logo.png": "x".repeat(600_000) };
    const { reason, message } = failed(await withUi(files));
    expect(reason).toBe("bundle_failed");
    expect(message).toMatch(expected);
    expect(message).toContain('"ui.my agent"');
  });
});

test("a syntax error is named with file, line and column", async () => {
  const { reason, message } = failed(
    await buildFiles(agentFiles({ "agent.js": "export const agent = ;\n" })),
  );
  expect(reason).toBe("bundle_failed");
  const line = "    export const agent = ;\n                         ^";
  expect(message).toBe(`agent.js:1:22: Unexpected ";"\n${line}`);
});

test("a missing file is named with the file and the line that import it", async () => {
  const files = agentFiles({
    "agent.js": 'import "./nothing.js";\nimport { b } from "./b.js";\nexport const agent = b;\n',
    "b.js": "export const a = 1;\n",
  });
  const built = await buildFiles(files);
  expect(failed(built).reason).toBe("bundle_failed");
  expect(textOf(built)).toContain(
    'agent.js:1:8: Could not resolve "./nothing.js": the file does not exist',
  );
});

test("a native addon is refused with file and line", async () => {
  const files = agentFiles({
    "agent.js": `import addon from "./addon.node";\n${FUNCTION_AGENT}export { addon };`,
    "addon.node": "\u007fELF",
  });
  const { message } = failed(await buildFiles(files));
  expect(message).toMatch(/^agent\.js:1:\d+: The native addon addon.node cannot run on Workers/);
});

test("a tarball that leaves its folder is refused", async () => {
  const built = await buildTarball([
    { header: { name: "agent/../../evil.js", size: 1 }, body: "1" },
  ]);
  expect(failed(built)).toMatchObject({
    reason: "source_unsafe",
    message: 'The archive holds "agent/../../evil.js", a path that leaves its folder.',
  });
});

test("a link out of the tree is refused, one inside is followed or left out with a warning", async () => {
  const link = (linkname: string) => ({
    header: { name: "agent/link.js", size: 0, type: "symlink" as const, linkname },
  });
  const files = Object.entries(agentFiles()).map(([name, body]) => ({
    header: { name: `agent/${name}`, size: body.length },
    body,
  }));
  expect(failed(await buildTarball([link("../../etc/passwd"), ...files])).reason).toBe(
    "source_unsafe",
  );
  const followed = await buildTarball([link("agent.js"), ...files]);
  deployed(followed);
  expect(textOf(followed)).not.toContain("Left out links");
  const built = await buildTarball([link("gone.js"), ...files]);
  deployed(built);
  expect(textOf(built)).toContain(
    "WARNING Left out links that lead to no file of the source: link.js",
  );
});

test("an upload may have a folder around everything, or none", async () => {
  const upload = (folder: string, files: Files) =>
    buildTarball(
      Object.entries(files).map(([name, body]) => ({
        header: { name: folder + name, size: body.length },
        body,
      })),
    );
  for (const folder of ["agent/", "./", ""]) deployed(await upload(folder, agentFiles()));
});

test("a source with too many files is refused", async () => {
  const entries = Array.from({ length: 20_001 }, (_, index) => ({
    header: { name: `agent/f${index}.png`, size: 0 },
  }));
  expect(failed(await buildTarball(entries))).toMatchObject({
    reason: "source_too_large",
    message: "The source has more than 20000 files.",
  });
});

test("a repository that is not there, and one that needs a token", async () => {
  const missing = failed(await buildRepository("acme/nothing"));
  expect(missing.reason).toBe("source_not_found");
  expect(missing.message).toContain("No public repository acme/nothing on");
  const name = await repository(agentFiles(), "private");
  expect(failed(await buildRepository(name)).message).toContain("choose an integration");
  deployed(await buildRepository(name, { token: TOKEN }));
  const rejected = failed(await buildRepository(name, { token: "stale" }));
  expect(rejected.reason).toBe("source_unauthorized");
  expect(failed(await buildRepository("private/nothing", { token: TOKEN })).reason).toBe(
    "source_not_found",
  );
});

test("a ref may be a branch, a tag, HEAD, a full or a short commit; another is not found", async () => {
  const name = await repository(agentFiles());
  const git = (...args: string[]) =>
    run("git", ["--git-dir", join(folder, "repositories", `${name}.git`), ...args]);
  await git("tag", "v1");
  const commit = (await git("rev-parse", "main")).stdout.trim();
  for (const ref of [
    "main",
    "refs/heads/main",
    "v1",
    "refs/tags/v1",
    "",
    commit,
    commit.slice(0, 8),
  ]) {
    expect(deployed(await buildRepository(name, { ref })).repo_commit_sha).toBe(commit);
  }
  const { reason, message } = failed(await buildRepository(name, { ref: "gone" }));
  expect({ reason, message }).toEqual({
    reason: "ref_not_found",
    message: `${name} has no branch, tag or commit "gone".`,
  });
});

test("a host that only speaks git is cloned", async () => {
  const name = await repository(agentFiles());
  const built = await buildRepository(name, { at: plainHost });
  expect(deployed(built).repo_commit_sha).toMatch(/^[0-9a-f]{40}$/);
  const gone = failed(await buildRepository(name, { at: plainHost, ref: "gone" }));
  expect(gone.reason).toBe("ref_not_found");
});

test("another host that has the archive receives no token", async () => {
  const name = await repository(agentFiles(), "private");
  const elsewhere = await startFaultProxy(host.url);
  host.fail({ match: `/codeload/${name}/`, times: 1, moved_to: elsewhere.url });
  deployed(await buildRepository(name, { token: TOKEN }));
  await elsewhere.close();
  expect(elsewhere.seen).toMatchObject([{ path: expect.stringContaining(`/codeload/${name}/`) }]);
  expect(JSON.stringify(elsewhere.seen)).not.toContain(TOKEN);
  expect(elsewhere.seen[0]?.headers).not.toHaveProperty("authorization");
});

test("a host that answers 503 or cuts an archive off is retried", async () => {
  const name = await repository(agentFiles());
  host.fail({ match: `/repos/${name}/`, times: 1, status: 503 });
  deployed(await buildRepository(name));
  host.fail({ match: `/codeload/${name}/`, times: 1, truncate: 100 });
  deployed(await buildRepository(name));
});

test("an archive that is always cut off ends the build", async () => {
  const name = await repository(agentFiles());
  host.fail({ match: `/codeload/${name}/`, times: 99, truncate: 100 });
  const { reason, message } = failed(await buildRepository(name));
  expect(reason).toBe("source_unavailable");
  expect(message).toContain(`The archive of ${name} is cut off`);
});

test("plain http is refused unless the installation allows it", async () => {
  const name = await repository(agentFiles());
  const { reason, message } = failed(
    await buildRepository(name, { order: { allow_private: false } }),
  );
  expect(reason).toBe("source_unsafe");
  expect(message).toContain("must begin with https://");
});

test("a package whose bytes are not those of the lockfile is refused", async () => {
  const integrity = `sha512-${Buffer.alloc(64, 1).toString("base64")}`;
  const files = agentFiles({
    "package.json": JSON.stringify({ dependencies: { ms: "2.1.3" } }),
    "package-lock.json": JSON.stringify({
      lockfileVersion: 3,
      packages: {
        "": { dependencies: { ms: "2.1.3" } },
        "node_modules/ms": { version: "2.1.3", integrity },
      },
    }),
  });
  const { reason, message } = failed(await buildFiles(files));
  expect(reason).toBe("dependency_integrity");
  expect(message).toContain("ms@2.1.3");
});

test("a lockfile that package.json has left behind is refused", async () => {
  const files = agentFiles({
    "package.json": JSON.stringify({ dependencies: { ms: "2.1.3" } }),
    "package-lock.json": JSON.stringify({ lockfileVersion: 3, packages: { "": {} } }),
  });
  const { reason, message } = failed(await buildFiles(files));
  expect(reason).toBe("dependency_unresolved");
  expect(message).toContain(
    "package.json requires ms 2.1.3, which package-lock.json does not have",
  );
});
