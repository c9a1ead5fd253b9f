import { describe, expect, test } from "vitest";
import { testDeployment } from "../../support/agent-deployment.ts";
import { answerOf } from "../../support/agent-users.ts";
import { TEST_AUTH, TEST_STORE } from "../../support/test-graphs.ts";
import { workspace } from "../../support/workspace.ts";

/**
 * An isolate whose entrypoint answers whatever the caller's header describes, as an agent's code can that
 * replaces the methods of its entrypoint.
 */
const MODULE = `
import { WorkerEntrypoint } from "cloudflare:workers";
const GOOD = { identity: "anna", display_name: "anna", is_authenticated: true, permissions: [] };
const shared = (n) => { let v = {}; for (let i = 0; i < n; i++) v = { a: v, b: v }; return v; };
const schemas = (value) => ({ input: value, output: null, state: null, config: null, context: null });
const USERS = {
  good: GOOD,
  nobody: { ...GOOD, identity: "" },
  number: { ...GOOD, identity: 7 },
  long: { ...GOOD, identity: "x".repeat(3000) },
  big: { ...GOOD, notes: "x".repeat(1 << 20) },
  shared: { ...GOOD, notes: shared(40) },
  permissions: { ...GOOD, permissions: "admin" },
  admin: { ...GOOD, is_authenticated: "yes" },
  map: new Map([["identity", "anna"]]),
  nothing: undefined,
};
const refusal = (fields) => ({ ok: false, refusal: { status: 403, message: "no", headers: [], ...fields } });
const REFUSALS = {
  status: refusal({ status: 200 }),
  float: refusal({ status: 403.5 }),
  headers: refusal({ headers: [["no header\\n", "x"]] }),
  pairs: refusal({ headers: ["x"] }),
  flood: refusal({ headers: Array(100000).fill(["a", "b"]) }),
};
const value = { metadata: {} };
const VERDICTS = {
  good: { value, filters: null },
  missing: { value },
  operator: { value, filters: { owner: { not: "anna" } } },
  nested: { value, filters: { owner: { eq: { a: 1 } } } },
  contains: { value, filters: { owner: { contains: "anna" } } },
  both: { value, filters: { owner: { eq: "a", contains: [] } } },
  proto: { value, filters: JSON.parse('{"__proto__":{"eq":"anna"}}') },
  many: { value, filters: Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [n, { eq: n }])) },
  list: { value, filters: [] },
  text: { value: "text", filters: null },
  shared: { value: { metadata: shared(40) }, filters: null },
};
const KINDS = {
  user: (name) => ({ user: USERS[name] }),
  refusal: (name) => ({ answer: REFUSALS[name] }),
  verdict: (name) => ({ verdict: VERDICTS[name] }),
};
const kinds = ([kind, name]) => KINDS[kind]?.(name) ?? {};

export class Agent extends WorkerEntrypoint {
  async authenticateRequest({ headers }) {
    const told = new Headers(headers).get("x-answer") ?? "user:good";
    const { user = GOOD, answer } = { user: undefined, ...kinds(told.split(":")) };
    if (answer) return answer;
    return { ok: true, value: told.startsWith("user:") ? kinds(told.split(":")).user : { ...user, told } };
  }
  async authorize({ user, value }) {
    const { verdict = { value, filters: null } } = kinds((user.told ?? "").split(":"));
    const [kind, patch] = (user.told ?? "").split("=");
    if (kind === "value") return { ok: true, value: { value: { ...value, ...JSON.parse(patch) }, filters: null } };
    return { ok: true, value: verdict };
  }
  async matchesPattern() { return { any: "object" }; }
  async embed({ items, query }) {
    const text = items[0]?.value ?? query;
    if (text.includes("none")) return { ok: true, value: { items: [], query: null } };
    if (text.includes("many")) return { ok: true, value: { items: [Array(100000).fill(new Float32Array(8))], query: null } };
    if (text.includes("numbers")) return { ok: true, value: { items: [[[1, 2, 3]]], query: [1] } };
    return null;
  }
  async drawGraph() { return { ok: true, value: "<script>" }; }
  async describeSchemas() { return { ok: true, value: schemas(shared(40)) }; }
  async describeSubgraphs() {
    const list = Array(150000).fill(0);
    return { ok: true, value: { a: schemas(list), b: schemas(list) } };
  }
}`;

async function hostileAgent(config: Record<string, unknown> = {}) {
  const owner = await workspace();
  const code = { module: MODULE, graphs: ["agent"] };
  const settings = { store: TEST_STORE, ...config };
  const { deployment_id } = await testDeployment(owner.workspace_id, settings, code);
  const call = (path: string, headers: Record<string, string> = {}, json?: unknown) => {
    const method = json === undefined ? "GET" : path === "/store/items" ? "PUT" : "POST";
    return answerOf(`/agents/${deployment_id}${path}`, { key: owner.admin, headers, json, method });
  };
  return { call };
}

const REFUSED = /^The agent's code returned an invalid result for (\S+)/;

describe("answers of an agent's auth", () => {
  const agent = hostileAgent({ auth: TEST_AUTH });
  const as = async (answer: string, path = "/threads", json: unknown = {}) =>
    (await agent).call(path, { "x-answer": answer }, json);

  test("a well-formed user and verdict pass", async () => {
    expect((await as("user:good")).status).toBe(200);
    expect((await as("verdict:good")).status).toBe(200);
  });

  test.each([
    "user:nobody",
    "user:number",
    "user:long",
    "user:big",
    "user:shared",
    "user:permissions",
    "user:admin",
    "user:map",
    "user:nothing",
    "refusal:status",
    "refusal:float",
    "refusal:headers",
    "refusal:pairs",
    "refusal:flood",
  ])("%s is 502 and no principal", async (answer) => {
    const { status, text } = await as(answer);
    expect([status, REFUSED.exec(text)?.[1]]).toEqual([502, "authenticateRequest:"]);
    expect(text.length).toBeLessThan(1000);
  });

  test.each([
    "missing",
    "operator",
    "nested",
    "contains",
    "both",
    "proto",
    "many",
    "list",
    "text",
    "shared",
  ])("a verdict of the form %s is 502, and shows no row", async (verdict) => {
    for (const path of ["/threads", "/threads/search"]) {
      const { status, text } = await as(`verdict:${verdict}`, path);
      expect([status, REFUSED.exec(text)?.[1]]).toEqual([502, "authorize:"]);
    }
  });

  test.each([
    ["a run's config", { kwargs: { config: { tags: 7 } } }, "/runs/wait", 502],
    ["a namespace", { namespace: { length: 3 } }, "/store/items", 422],
    ["a key", { key: null }, "/store/items", 422],
    ["an item", { value: 7 }, "/store/items", 422],
  ])("%s that a handler replaced is refused by name", async (_, patch, path, status) => {
    const json = { assistant_id: "agent", namespace: ["a"], key: "k", value: {}, index: false };
    const { call } = await agent;
    const sent = await call(path, { "x-answer": `value=${JSON.stringify(patch)}` }, json);
    expect([sent.status, sent.text]).toEqual([
      status,
      expect.stringMatching(/kwargs|ops\.0|index/),
    ]);
  });
});

describe("answers of an agent's graphs and functions", () => {
  const agent = hostileAgent();

  test.each([
    ["graph", "drawGraph:"],
    ["schemas", "describeSchemas:"],
    ["subgraphs", "describeSubgraphs:"],
  ])("/%s is 502", async (path, call) => {
    const { status, text } = await (await agent).call(`/assistants/agent/${path}`);
    expect([status, REFUSED.exec(text)?.[1]]).toEqual([502, call]);
  });

  test.each(["none", "many", "numbers", "null"])("an embedding: %s", async (kind) => {
    const json = { namespace: ["a"], key: "k", value: { text: kind } };
    const { call } = await agent;
    const { status, text } = await call("/store/items", {}, json);
    expect([status, REFUSED.exec(text)?.[1]]).toEqual([502, "embed:"]);
  });

  test("an origin is not allowed by a result that is not a boolean", async () => {
    const { call } = await hostileAgent({ http: { cors: { allow_origin_regex: "https://a" } } });
    const answer = await call("/ok", { Origin: "https://evil.test" });
    expect(answer.status).toBe(502);
    expect(answer.headers.get("Access-Control-Allow-Origin")).toBeNull();
  });
});
