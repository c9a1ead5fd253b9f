import { describe, expect, test } from "vitest";
import { testDeployment } from "../../support/agent-deployment.ts";
import { answerOf } from "../../support/agent-users.ts";
import { api, workspace } from "../../support/workspace.ts";

async function agentWith(http: Record<string, unknown>) {
  const { admin, workspace_id } = await workspace();
  const { deployment_id } = await testDeployment(workspace_id, { http });
  const base = `/agents/${deployment_id}`;
  const call = (path: string, sent: Parameters<typeof api>[1] = {}) =>
    answerOf(base + path, { key: admin, ...sent });
  return { base, call, admin };
}

const PAGE = "https://page.example";

/** Preflight request of a browser. */
async function preflight(base: string, origin: string, more: Record<string, string> = {}) {
  const headers = {
    ...more,
    Origin: origin,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "content-type,x-api-key",
  };
  const response = await api(`${base}/threads`, { method: "OPTIONS", headers });
  return Object.fromEntries(
    [...response.headers].filter(([name]) => name.startsWith("access-control-")),
  );
}

describe("pages of other origins", () => {
  test("may call from everywhere and read what useStream needs, unless http.cors restricts it", async () => {
    const { base, call } = await agentWith({});
    expect(await preflight(base, PAGE)).toMatchObject({
      "access-control-allow-origin": "*",
      "access-control-allow-headers": "content-type,x-api-key",
    });
    const { headers } = await call("/threads/search", { json: {}, headers: { Origin: PAGE } });
    const exposed = headers.get("Access-Control-Expose-Headers")?.toLowerCase().split(",");
    expect(exposed).toEqual(
      expect.arrayContaining([
        "content-location",
        "location",
        "x-pagination-total",
        "x-pagination-next",
      ]),
    );
  });

  test("may call only from origins that http.cors lists", async () => {
    const cors = {
      allow_origins: [PAGE],
      allow_methods: ["POST"],
      allow_headers: ["x-own"],
      allow_credentials: true,
      expose_headers: ["x-shown"],
      max_age: 60,
    };
    const { base, call } = await agentWith({ cors });
    expect(await preflight(base, PAGE)).toMatchObject({
      "access-control-allow-origin": PAGE,
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "Accept,Accept-Language,Content-Language,Content-Type,x-own",
      "access-control-allow-credentials": "true",
      "access-control-max-age": "60",
    });
    expect(await preflight(base, "https://other.example")).not.toHaveProperty(
      "access-control-allow-origin",
    );
    const { headers } = await call("/ok", { headers: { Origin: PAGE } });
    expect(headers.get("Access-Control-Allow-Origin")).toBe(PAGE);
    const exposed = headers.get("Access-Control-Expose-Headers") ?? "";
    expect(exposed.toLowerCase()).toContain("content-location");
    expect(exposed).toContain("x-shown");
  });

  test("may use all methods and headers with credentials where stars allow them", async () => {
    const cors = { allow_methods: ["*"], allow_headers: ["*"], allow_credentials: true };
    const { base } = await agentWith({ cors });
    expect(await preflight(base, PAGE)).toMatchObject({
      "access-control-allow-origin": PAGE,
      "access-control-allow-methods": expect.stringContaining("DELETE"),
      "access-control-allow-headers": "content-type,x-api-key",
    });
  });

  test("or match its expression as a whole", async () => {
    const cors = { allow_origin_regex: "https://[a-z]+\\.example" };
    const { base } = await agentWith({ cors });
    const origins = {
      "https://page.example": "https://page.example",
      "https://page.example.evil.test": undefined,
      "http://page.example": undefined,
    };
    for (const [origin, allowed] of Object.entries(origins)) {
      const answer = await preflight(base, origin);
      expect(answer["access-control-allow-origin"], origin).toBe(allowed);
    }
  });
});

describe("a preflight of a private network", () => {
  const wants = { "Access-Control-Request-Private-Network": "true" };
  const ALLOW = "access-control-allow-private-network";

  test("is answered to pages that may call", async () => {
    const { base } = await agentWith({});
    expect(await preflight(base, PAGE, wants)).toMatchObject({ [ALLOW]: "true" });
    expect(await preflight(base, PAGE)).not.toHaveProperty(ALLOW);
  });

  test("is not answered to other pages", async () => {
    const { base } = await agentWith({ cors: { allow_origins: [PAGE] } });
    expect(await preflight(base, PAGE, wants)).toMatchObject({ [ALLOW]: "true" });
    expect(await preflight(base, "https://other.example", wants)).not.toHaveProperty(ALLOW);
  });
});

describe("settings http.disable_*", () => {
  const id = crypto.randomUUID();
  const protocol = ["POST", "GET"].map((method) => `${method} /threads/${id}/stream/events`);
  protocol.push(`POST /threads/${id}/commands`);
  const paths = {
    disable_assistants: ["POST /assistants/search"],
    disable_threads: [
      "POST /threads/search",
      `GET /threads/${id}`,
      `GET /threads/${id}/state`,
      ...protocol,
    ],
    disable_runs: [
      "POST /runs/wait",
      `POST /threads/${id}/runs`,
      `GET /threads/${id}/runs/${id}/join`,
      ...protocol,
    ],
    disable_crons: ["POST /runs/crons/search", `POST /threads/${id}/runs/crons`],
    disable_store: ["POST /store/namespaces"],
    disable_meta: ["GET /info", "GET /ok", "GET /metrics"],
    disable_mcp: ["POST /mcp"],
    disable_a2a: [`POST /a2a/${id}`, "GET /.well-known/agent-card.json"],
  };

  test.each(Object.entries(paths))("%s", async (flag, off) => {
    const { call } = await agentWith({ [flag]: true });
    const all = Object.values(paths).flat();
    for (const path of all) {
      const [method = "", at = ""] = path.split(" ");
      const answer = await call(at, { method, ...(method === "POST" && { json: {} }) });
      const isOff = answer.status === 404 && answer.text === "404 Not Found";
      const isPart = flag === "disable_runs" && paths.disable_crons.includes(path);
      expect([path, isOff]).toEqual([path, off.includes(path) || isPart]);
    }
  });

  test("webhooks", async () => {
    const { call } = await agentWith({ disable_webhooks: true });
    const json = { assistant_id: "echo", webhook: "https://receiver.example/" };
    const { status, text } = await call("/runs", { json });
    expect([status, text]).toEqual([422, expect.stringContaining("http.disable_webhooks")]);
  });
});

describe("headers of a request in a graph's configurable", () => {
  const headers = {
    "X-Own": "1",
    "X-Other": "2",
    Authorization: "Bearer nothing",
    "My-Id": "3",
    "User-Agent": "test",
    Cookie: "a=b",
  };

  test.each([
    [undefined, { "x-own": "1", "x-other": "2", "user-agent": "test" }],
    [{ includes: ["my-*", "authorization", "cookie", "x-api-key"] }, { "my-id": "3" }],
    [{ excludes: ["x-o*"] }, { "user-agent": "test" }],
    [{ includes: ["X-*"], excludes: ["X-Other"] }, { "x-own": "1" }],
  ])("configurable_headers %j", async (configurable_headers, shown) => {
    const { call } = await agentWith({ configurable_headers });
    const json = { assistant_id: "config", input: {} };
    const answer = await call("/runs/wait", { headers, json });
    const { seen } = answer.json as { seen: Record<string, unknown> };
    const names = [...Object.keys(headers), "X-Api-Key"].map((name) => name.toLowerCase());
    const found = Object.entries(seen).filter(([name]) => names.includes(name));
    expect(Object.fromEntries(found)).toEqual(shown);
  });

  test("has the trace headers and the baggage of the request, also when the settings include no header", async () => {
    const { call } = await agentWith({ configurable_headers: { includes: [] } });
    const seenWith = async (sent: Record<string, string>) => {
      const json = { assistant_id: "config", input: {} };
      const answer = await call("/runs/wait", { headers: sent, json });
      return (answer.json as { seen: Record<string, unknown> }).seen;
    };
    const metadata = encodeURIComponent(JSON.stringify({ user: "ä" }));
    const baggage = `langsmith-metadata=${metadata}, langsmith-tags=a%2Cb,langsmith-project=p,other=1`;
    const trace = "20261128T040000000000Z019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071";
    const seen = await seenWith({ "Langsmith-Trace": trace, Baggage: baggage });
    expect(seen).toMatchObject({
      ...{ "langsmith-trace": trace, "langsmith-metadata": { user: "ä" } },
      ...{ "langsmith-tags": ["a", "b"], "langsmith-project": "p", baggage },
    });
    expect(seen).not.toHaveProperty("other");
    const broken = await seenWith({
      "Langsmith-Trace": trace,
      Baggage: "langsmith-metadata=%7B,%",
    });
    expect(broken).toHaveProperty("langsmith-trace", trace);
    expect(broken).not.toHaveProperty("langsmith-metadata");
    expect(await seenWith({ Baggage: baggage })).not.toHaveProperty("langsmith-project");
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    expect(await seenWith({ Traceparent: traceparent })).toMatchObject({ traceparent });
  });

  test("has no trace of an earlier run of its thread, but the other headers", async () => {
    const { call } = await agentWith({});
    const { thread_id } = (await call("/threads", { json: {} })).json as { thread_id: string };
    const seenWith = async (headers: Record<string, string>, more: object = {}) => {
      const json = { assistant_id: "config", input: {}, ...more };
      const answer = await call(`/threads/${thread_id}/runs/wait`, { headers, json });
      return (answer.json as { seen: Record<string, unknown> }).seen;
    };
    const headers = {
      ...{ Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
      ...{ "Langsmith-Trace": `20261128T040000000000Z${thread_id}`, "X-Tone": "dry" },
      Baggage: "langsmith-metadata=%7B%7D,langsmith-tags=a,langsmith-project=p",
    };
    const langsmith_tracer = { project_name: "p", example_id: thread_id };
    const ofTrace = (seen: object) =>
      Object.keys(seen).filter((key) => /^(langsmith|traceparent|baggage)/.test(key));
    expect(ofTrace(await seenWith(headers, { langsmith_tracer }))).toHaveLength(8);
    const later = await seenWith({});
    expect([later["x-tone"], ofTrace(later)]).toEqual(["dry", []]);
  });
});
