import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { afterAll, beforeAll, expect, test } from "vitest";
import { oidOf, packAnswer, packOf, refsAnswer, treeBomb } from "../support/git-packs.ts";
import {
  build,
  createBody,
  type Deployment,
  deploy,
  type Revision,
  uniqueName,
} from "./support/deployments.ts";
import { request } from "./support/http.ts";
import { type Bystander, servedUntil } from "./support/neighbours.ts";
import { type Files, pushRepository } from "./support/repositories.ts";
import { killBuilders, until, workerPid } from "./support/stack.ts";

const AGENT: Files = {
  "langgraph.json": JSON.stringify({ graphs: { agent: "./agent.ts:agent" } }),
  "agent.ts": "export async function* agent(input: unknown) { yield { heard: input }; }\n",
};

let bystander: Bystander;
let host: Server;
let host_url: string;
/** Requests for an archive of the host, by repository: one for each attempt of a build. */
const fetches = new Map<string, number>();

beforeAll(async () => {
  const { id: deployment_id } = await deploy("bystander", AGENT);
  bystander = { deployment_id, assistant_id: "agent", headers: {} };
  host = createServer(async (incoming, response) => {
    const { url = "" } = incoming;
    const [, name = ""] = /\/(\w+)\/tarball\//.exec(url) ?? [];
    fetches.set(name, (fetches.get(name) ?? 0) + 1);
    if (name === "held") return;
    const body = await answerOf(url);
    response.writeHead(body === null ? 404 : 200).end(body);
  });
  await once(host.listen(0, "127.0.0.1"), "listening");
  host_url = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
});

afterAll(() => void host.close());

/** A host whose repositories are bombs: `tree`, `tar`, `pax` and `memory`. Requests for `held` get no response. */
async function answerOf(url: string): Promise<Uint8Array | null> {
  const objects = treeBomb(10, 10);
  const head = oidOf(objects.at(-1) as (typeof objects)[number]);
  const [, name = ""] = /\/(\w+)\/tarball\//.exec(url) ?? [];
  if (url.includes("/tarball/")) return (await ARCHIVES[name]?.()) ?? null;
  if (url.includes("/info/refs")) return refsAnswer(head);
  return url.endsWith("/git-upload-pack") ? packAnswer(packOf(objects), head) : null;
}

/** 80 MB of zeros, 80 KB compressed. */
async function tarBomb(): Promise<Uint8Array> {
  const entries = Array.from({ length: 8 }, (_, n) => ({
    header: { name: `bomb/${n}.txt`, size: 10 * 1024 * 1024 },
    body: new Uint8Array(10 * 1024 * 1024),
  }));
  return gzipSync(await packTar(entries));
}

/** A pax header of 8 MB whose records of two bytes are not separated, in 9 KB. */
async function paxBomb(): Promise<Uint8Array> {
  const body = new TextEncoder().encode("2a".repeat(4 * 1024 * 1024));
  const header = { name: "pax", type: "pax-header", size: body.byteLength } as const;
  return gzipSync(await packTar([{ header, body }]));
}

/** Four modules of 15 MB: their syntax trees take more than a build's process may use. */
async function memoryBomb(): Promise<Uint8Array> {
  const names = ["a", "b", "c", "d"];
  const imports = names.map((name) => `import ${name} from "./${name}.ts";`).join("\n");
  const agent = `${imports}\nexport async function* agent() { yield [${names}].length; }\n`;
  const large = `export default [${"[1],".repeat(3_750_000)}];\n`;
  const modules = names.map((name) => [`${name}.ts`, large] as const);
  const files = Object.entries({ ...AGENT, "agent.ts": agent, ...Object.fromEntries(modules) });
  const entries = files.map(([name, body]) => ({ header: { name, size: body.length }, body }));
  return gzipSync(await packTar(entries));
}

const ARCHIVES: Record<string, () => Promise<Uint8Array>> = {
  tar: tarBomb,
  pax: paxBomb,
  memory: memoryBomb,
};

/** Five interfaces of 26 fields, each of the next one. */
function typeBomb(): string {
  const levels = Array.from({ length: 5 }, (_, level) => {
    const type = level < 4 ? `T${level + 1}` : "string";
    const fields = Array.from({ length: 26 }, (_, n) => `f${n}: ${type}`);
    return `interface T${level} { ${fields.join("; ")} }`;
  });
  return `${levels.join("\n")}\nconst State = { x: Annotation<T0> };\n`;
}

const lockfile = JSON.stringify({
  lockfileVersion: 3,
  packages: {
    "node_modules/b": { version: "1.0.0", resolved: `https://h/@${"a%2f".repeat(40_000)}` },
  },
});

type Outcome = { status: string; status_reason: string | null };

test.each<[string, () => Promise<string>, Outcome]>([
  [
    "nested types",
    () => pushRepository("type-bomb", { ...AGENT, "types.ts": typeBomb() }),
    { status: "DEPLOYED", status_reason: null },
  ],
  [
    "a lockfile with an address of 160 KB",
    () =>
      pushRepository("lock-bomb", {
        ...AGENT,
        "package.json": JSON.stringify({ dependencies: { b: "1.0.0" } }),
        "package-lock.json": lockfile,
      }),
    { status: "BUILD_FAILED", status_reason: "dependency_unresolved" },
  ],
  [
    "a tree of 10^10 visits",
    async () => `${host_url}/acme/tree`,
    { status: "BUILD_FAILED", status_reason: "source_too_large" },
  ],
  [
    "an archive of 80 MB in 80 KB",
    async () => `${host_url}/acme/tar`,
    { status: "BUILD_FAILED", status_reason: "source_too_large" },
  ],
  [
    "a pax header of 8 MB",
    async () => `${host_url}/acme/pax`,
    { status: "BUILD_FAILED", status_reason: "source_too_large" },
  ],
])("%s: other agents answer, and their revisions are deployed", async (name, source, expected) => {
  const bomb = build(name.replaceAll(/[^a-z0-9]+/g, "-").slice(0, 30), await source());
  const other = deploy("other", AGENT);
  const state = { isOver: false };
  const ended = Promise.allSettled([bomb, other]).then(() => {
    state.isOver = true;
  });
  const worker = await workerPid();
  const served = await servedUntil(bystander, () => state.isOver);
  await ended;
  const { revision } = await bomb;
  expect(revision).toMatchObject(expected);
  expect(revision.status_message?.length ?? 0).toBeLessThan(8001);
  expect((await other).revision.status).toBe("DEPLOYED");
  expect(served).toBeGreaterThan(0);
  expect(await workerPid()).toBe(worker);
});

async function createDeployment(name: string): Promise<string> {
  const body = createBody(uniqueName(name), `${host_url}/acme/${name}`);
  const created = await request<Deployment>("POST", "/v2/deployments", body);
  expect(created.status).toBe(201);
  return `/v2/deployments/${created.body.id}/revisions/${created.body.latest_revision_id}`;
}

async function awaitEnd(revision_path: string): Promise<Revision> {
  const { body } = await until(
    "The end of the build",
    () => request<Revision>("GET", revision_path),
    ({ body }) => /DEPLOYED|FAILED/.test(body.status),
  );
  return body;
}

async function readBuildLog(revision_path: string): Promise<string[]> {
  const [, deployment_id, revision_id] =
    /deployments\/(.+)\/revisions\/(.+)/.exec(revision_path) ?? [];
  const path = `/v1/projects/${deployment_id}/revisions/${revision_id}/build_logs`;
  type Page = { logs: { message: string }[]; next_offset: string | null };
  const { status, body } = await request<Page>("POST", path, { limit: 1000 });
  expect(status).toBe(200);
  expect(body.next_offset).toBeNull();
  return body.logs.map(({ message }) => message);
}

test("a build whose process is killed twice has failed, and is not tried a third time", async () => {
  const revision_path = await createDeployment("held");
  for (const attempt of [1, 2]) {
    await until(
      `Attempt ${attempt}`,
      async () => fetches.get("held") ?? 0,
      (count) => count === attempt,
    );
    expect(await killBuilders()).toBeGreaterThan(0);
  }
  expect(await awaitEnd(revision_path)).toMatchObject({
    status: "BUILD_FAILED",
    status_reason: "internal",
    status_message: expect.stringContaining("The build crashed twice."),
  });
  expect(await readBuildLog(revision_path)).toEqual([]);
  expect((await deploy("next", AGENT)).revision.status).toBe("DEPLOYED");
  expect(fetches.get("held")).toBe(2);
});

test("a build that needs more memory than its process may use has at most two attempts", async () => {
  const revision_path = await createDeployment("memory");
  const { status, status_message } = await awaitEnd(revision_path);
  expect(status).toBe("BUILD_FAILED");
  expect(status_message).toMatch(/memory/);
  const log = await readBuildLog(revision_path);
  expect(log.filter((line) => line.startsWith("Fetched")).length).toBeLessThanOrEqual(2);
  expect(fetches.get("memory")).toBeLessThanOrEqual(2);
  const run = { assistant_id: "agent", input: {} };
  expect((await request("POST", `/agents/${bystander.deployment_id}/runs/wait`, run)).status).toBe(
    200,
  );
});
