import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { afterAll, beforeAll, expect, test } from "vitest";
import { oidOf, packAnswer, packOf, refsAnswer, treeBomb } from "../support/git-packs.ts";
import { build, deploy } from "./support/deployments.ts";
import { request } from "./support/http.ts";
import { type Files, pushRepository } from "./support/repositories.ts";

/** Generous, because the machine may be busy: each of these bombs once took the Worker away for 4 to 90 seconds. */
const ANSWER_MS = 8000;
const AGENT: Files = {
  "langgraph.json": JSON.stringify({ graphs: { agent: "./agent.ts:agent" } }),
  "agent.ts": "export async function* agent(input: unknown) { yield { heard: input }; }\n",
};

let bystander: string;
let host: Server;
let host_url: string;

beforeAll(async () => {
  bystander = (await deploy("bystander", AGENT)).id;
  host = createServer(async (incoming, response) => {
    const { url = "" } = incoming;
    const body = await answerOf(url);
    response.writeHead(body === null ? 404 : 200).end(body);
  });
  await once(host.listen(0, "127.0.0.1"), "listening");
  host_url = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
});

afterAll(() => void host.close());

/** A host whose repositories `tree` and `tar` are bombs. */
async function answerOf(url: string): Promise<Uint8Array | null> {
  const objects = treeBomb(10, 10);
  const head = oidOf(objects.at(-1) as (typeof objects)[number]);
  if (url.includes("/tarball/")) return url.includes("/tar/") ? tarBomb() : null;
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
])("%s: other agents answer, and their revisions are deployed", async (name, source, expected) => {
  const bomb = build(name.replaceAll(/[^a-z0-9]+/g, "-").slice(0, 30), await source());
  const other = deploy("other", AGENT);
  const state = { isOver: false };
  const ended = Promise.allSettled([bomb, other]).then(() => {
    state.isOver = true;
  });
  const times: number[] = [];
  do {
    const started = performance.now();
    const { status } = await request("POST", `/agents/${bystander}/runs/wait`, {
      assistant_id: "agent",
      input: { n: times.length },
    });
    expect(status).toBe(200);
    times.push(performance.now() - started);
  } while (!state.isOver);
  await ended;
  const { revision } = await bomb;
  expect(revision).toMatchObject(expected);
  expect(revision.status_message?.length ?? 0).toBeLessThan(8001);
  expect((await other).revision.status).toBe("DEPLOYED");
  expect(Math.max(...times)).toBeLessThan(ANSWER_MS);
});
