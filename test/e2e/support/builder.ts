import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { BUILDER_FOLDER, builderModules } from "../../../scripts/build/builder-modules.ts";
import type {
  BuildLine,
  BuildOrder,
  BuildOutcome,
  PrebuildOrder,
} from "../../../src/control-plane/builds/contract.ts";

const COMPATIBILITY_DATE = "2026-11-01";

/** Takes the place of the main Worker: orders a build, keeps its log, loads the artifact. */
const DRIVER = `
import { RpcTarget } from "cloudflare:workers";
class Sink extends RpcTarget {
  lines = [];
  async log(lines) { this.lines.push(...lines); }
}
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/list") {
      const { objects } = await env.ARTIFACTS.list({ prefix: await request.text() });
      return Response.json(objects.map(({ key }) => key));
    }
    if (request.method === "PUT") {
      await env.ARTIFACTS.put(pathname.slice(1), await request.arrayBuffer());
      return new Response(null, { status: 204 });
    }
    if (request.method === "GET") return (await env.ARTIFACTS.get(pathname.slice(1)))?.body
      ? new Response((await env.ARTIFACTS.get(pathname.slice(1))).body) : new Response(null, { status: 404 });
    if (request.method === "DELETE") {
      for (const { key } of (await env.ARTIFACTS.list()).objects) await env.ARTIFACTS.delete(key);
      return new Response(null, { status: 204 });
    }
    if (pathname === "/describe") return Response.json(await describe(env, await request.json()));
    if (pathname === "/prebuild") {
      await env.BUILDER.prebuild(await request.json());
      return new Response(null, { status: 204 });
    }
    const sink = new Sink();
    const outcome = await env.BUILDER.build(await request.json(), sink);
    return Response.json({ outcome, lines: sink.lines });
  },
};
async function describe(env, key) {
  const artifact = await (await env.ARTIFACTS.get(key)).json();
  const worker = env.LOADER.get(key, () => ({
    compatibilityDate: artifact.compatibility_date,
    mainModule: artifact.main_module,
    modules: Object.fromEntries(Object.entries(artifact.modules).map(([name, module]) => {
      const bytes = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer;
      if (module.wasm) return [name, { wasm: bytes(module.wasm) }];
      return [name, module.data ? { data: bytes(module.data) } : module];
    })),
    env: {},
    globalOutbound: null,
  }));
  return worker.getEntrypoint("Agent").describe();
}
`;

export type Built = { outcome: BuildOutcome; lines: BuildLine[]; took_ms: number };

export type BuilderHarness = {
  build(order: BuildOrder): Promise<Built>;
  prebuild(order: PrebuildOrder): Promise<void>;
  describe(artifact_key: string): Promise<unknown>;
  store(key: string, bytes: Uint8Array): Promise<void>;
  read(key: string): Promise<string>;
  list(prefix: string): Promise<string[]>;
  clear(): Promise<void>;
  close(): Promise<void>;
};

export async function startBuilder(): Promise<BuilderHarness> {
  const buckets = { r2Buckets: { ARTIFACTS: "heddle-artifacts" } };
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      workers: [
        {
          name: "driver",
          modules: true,
          script: DRIVER,
          compatibilityDate: COMPATIBILITY_DATE,
          serviceBindings: { BUILDER: { name: "heddle-builder", entrypoint: "Builder" } },
          workerLoaders: { LOADER: {} },
          ...buckets,
        },
        {
          name: "heddle-builder",
          modules: builderModules(),
          modulesRoot: BUILDER_FOLDER,
          compatibilityDate: COMPATIBILITY_DATE,
          workerLoaders: { LOADER: {} },
          ...buckets,
        },
      ],
    }),
  );
  const origin = (await miniflare.ready).origin;
  const call = async (method: string, path: string, body?: string | Uint8Array<ArrayBuffer>) => {
    const response = await fetch(`${origin}/${path}`, { method, ...(body ? { body } : {}) });
    if (!response.ok)
      throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  return {
    async build(order) {
      const started = performance.now();
      const response = await call("POST", "build", JSON.stringify(order));
      const built = (await response.json()) as Omit<Built, "took_ms">;
      return { ...built, took_ms: Math.round(performance.now() - started) };
    },
    prebuild: async (order) => void (await call("POST", "prebuild", JSON.stringify(order))),
    describe: async (key) => (await call("POST", "describe", JSON.stringify(key))).json(),
    store: async (key, bytes) => void (await call("PUT", key, bytes.slice())),
    list: async (prefix) => (await call("POST", "list", prefix)).json() as Promise<string[]>,
    read: async (key) => (await call("GET", key)).text(),
    clear: async () => void (await call("DELETE", "")),
    close: () => miniflare.dispose(),
  };
}
