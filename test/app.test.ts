import { exports } from "cloudflare:workers";
import { gte } from "semver";
import { beforeAll, describe, expect, test } from "vitest";
import { version } from "../package.json";
import { DeploymentCreateRequest } from "../src/control-plane/deployments/schema.ts";
import { toNewSource } from "../src/control-plane/deployments/sources.ts";
import { testDeployment } from "./support/agent-deployment.ts";
import { api, workspace } from "./support/workspace.ts";

type Operation = {
  operationId?: string;
  tags?: string[];
  requestBody?: unknown;
  responses: Record<string, unknown>;
  security?: unknown[];
};
type Document = {
  openapi: string;
  info: { title: string; version: string };
  tags: { name: string }[];
  servers: { url: string }[];
  components: { securitySchemes: Record<string, unknown> };
  paths: Record<string, Record<string, Operation>>;
};

function refusalsOf({ requestBody, security }: Operation): string[] {
  const ofBody = requestBody === undefined ? [] : ["400", "413", "415", "422"];
  return security?.length === 0 ? ofBody : ["401", "403", "422", ...ofBody];
}

type RequestBody = { content: { "application/json": { schema: object; example: unknown } } };

type Components = {
  components: { schemas: Record<string, { properties?: Record<string, unknown> }> };
};

test("/ok and /info answer without a key", async () => {
  const ok = await api("/ok");
  expect([ok.status, await ok.json()]).toEqual([200, { ok: true }]);
  const info = await api("/info");
  expect(info.status).toBe(200);
  const answer = await info.json<{ version: string }>();
  expect(answer).toMatchObject({ flags: { assistants: true, crons: true } });
  // Versions that clients require for schedules and export_fields.
  expect(gte(answer.version, "0.12.42")).toBe(true);
});

test("the control plane's prefix leads to the same routes", async () => {
  expect(await (await api("/api-host/ok")).json()).toEqual({ ok: true });
  expect((await api("/api-hostile/ok")).status).toBe(404);
});

describe("every answer", () => {
  test.each(["/ok", "/docs", "/openapi.json", "/docs/viewer.css", "/nothing", "/agents/x/nothing"])(
    "has a request id and allows all origins: %s",
    async (path) => {
      const { headers, body } = await api(path, { headers: { Origin: "https://page.test" } });
      await body?.cancel();
      expect(headers.get("X-Request-Id")).toMatch(/^[0-9a-f-]{36}$/);
      expect(headers.get("Access-Control-Allow-Origin")).toBe("*");
      const exposed = headers.get("Access-Control-Expose-Headers");
      for (const name of [
        "Content-Location",
        "Location",
        "X-Pagination-Total",
        "X-Pagination-Next",
      ]) {
        expect(exposed).toContain(name);
      }
    },
  );

  test("has its own request id", async () => {
    const [a, b] = [await api("/ok"), await api("/ok")];
    expect(a.headers.get("X-Request-Id")).not.toBe(b.headers.get("X-Request-Id"));
  });

  test("has a request id that the caller did not choose", async () => {
    const { headers } = await api("/ok", { headers: { "X-Request-Id": "chosen" } });
    expect(headers.get("X-Request-Id")).toMatch(/^[0-9a-f-]{36}$/);
  });
});

test("a preflight needs no key and allows the client's headers", async () => {
  const response = await api("/v2/deployments", {
    method: "OPTIONS",
    headers: {
      Origin: "https://page.test",
      "Access-Control-Request-Method": "PATCH",
      "Access-Control-Request-Headers": "x-api-key, content-type",
    },
  });
  expect(response.status).toBe(204);
  expect(response.headers.get("Access-Control-Allow-Methods")).toContain("PATCH");
  expect(response.headers.get("Access-Control-Allow-Headers")).toContain("x-api-key");
});

test("the reference states what a deployment from git requires, and its example is accepted", async () => {
  const document = await (await api("/openapi.json")).json<Document & Components>();
  const schema = JSON.stringify(document.components.schemas.DeploymentCreateRequest);
  expect(schema.match(/Required for `github`/g)).toHaveLength(3);
  const body = document.paths["/v2/deployments"]?.post?.requestBody as RequestBody;
  const { example } = body.content["application/json"];
  expect(toNewSource(DeploymentCreateRequest.parse(example))).toMatchObject({ source: "github" });
});

test("the reference has a 402 for operations that store a source or start a build", async () => {
  const document = await (await api("/openapi.json")).json<Document>();
  const limited = Object.values(document.paths).flatMap((item) =>
    Object.values(item)
      .filter(({ responses }) => "402" in responses)
      .map(({ operationId }) => operationId),
  );
  expect(limited).toEqual(
    expect.arrayContaining([
      ...["createDeployment", "updateDeployment", "createRevision", "receiveUpload"],
      ...["redeployRevision", "redeployProjectRevision", "createUploadUrl", "receiveWebhook"],
    ]),
  );
});

test("each JSON response of the reference has a schema", async () => {
  const document = await (await api("/openapi.json")).json<Document>();
  const empty = Object.values(document.paths).flatMap((item) =>
    Object.values(item).flatMap(({ operationId, responses }) =>
      Object.values(responses as Record<string, Partial<RequestBody>>)
        .filter(({ content }) => content?.["application/json"])
        .filter(
          ({ content }) => Object.keys(content?.["application/json"]?.schema ?? {}).length === 0,
        )
        .map(() => operationId),
    ),
  );
  expect(empty).toEqual([]);
});

test("each field, parameter and JSON body of the reference is described or shown by an example", async () => {
  type Described = { description?: string };
  type Reference = {
    components: { schemas: Record<string, { properties?: Record<string, object> } & Described> };
    paths: Record<string, Record<string, Operation & { parameters?: object[] }>>;
  };
  const { components, paths } = await (await api("/openapi.json")).json<Reference>();
  const describedAt = (value: object): boolean => {
    const {
      description,
      $ref,
      anyOf = [],
    } = value as Described & {
      $ref?: string;
      anyOf?: object[];
    };
    const target = components.schemas[$ref?.split("/").pop() ?? ""];
    return (
      Boolean(description) ||
      (target !== undefined && describedAt(target)) ||
      anyOf.some(describedAt)
    );
  };
  const fields = Object.entries(components.schemas).flatMap(([schema, { properties = {} }]) =>
    Object.entries(properties).map(([name, value]) => [`${schema}.${name}`, value] as const),
  );
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const parameters = operations.flatMap(({ operationId, parameters = [] }) =>
    parameters.map((value) => [`${operationId} ${Object(value).name}`, value] as const),
  );
  expect([fields.length > 800, parameters.length > 300]).toEqual([true, true]);
  const bare = [...fields, ...parameters].filter(
    ([, value]) =>
      !describedAt(value) && !describedAt(Object((value as { schema?: object }).schema)),
  );
  expect(bare.map(([name]) => name)).toEqual([]);
  const unshown = operations.filter(({ requestBody, responses }) => {
    const answers = Object.entries(responses).filter(([status]) => status.startsWith("2"));
    const json = [requestBody, ...answers.map(([, answer]) => answer)].flatMap(
      (part) => (part as Partial<RequestBody> | undefined)?.content?.["application/json"] ?? [],
    );
    return json.some((part) => !("example" in part || "examples" in part));
  });
  expect(unshown.map(({ operationId }) => operationId)).toEqual([]);
});

describe("an unknown route", () => {
  test("is a detail in the control plane", async () => {
    const response = await api("/v2/nothing", { json: {} });
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      detail: "POST /v2/nothing does not exist. See /openapi.json for all operations.",
    });
  });

  test("is a 405 with the methods that the path has", async () => {
    const { viewer: key } = await workspace();
    for (const [path, allow] of [
      ["/v2/deployments", "GET, POST, DELETE"],
      [`/v2/deployments/${crypto.randomUUID()}`, "GET, PATCH, DELETE"],
      ["/v2/auth/providers/mcp-discover", "GET, POST, PATCH, DELETE"],
      ["/ok", "GET"],
    ] as const) {
      const response = await api(path, { key, method: "PUT" });
      expect([response.status, response.headers.get("Allow")]).toEqual([405, allow]);
      expect(await response.text()).toContain(`use ${allow.split(", ")[0]}`);
    }
    expect((await api("/v2/deployments", { method: "PUT" })).status).toBe(401);
  });

  test("is a 405 as text in the agent server", async () => {
    const { workspace_id, viewer: key } = await workspace();
    const { deployment_id } = await testDeployment(workspace_id);
    const response = await api(`/agents/${deployment_id}/threads`, { key, method: "PUT" });
    expect([response.status, response.headers.get("Allow")]).toEqual([405, "POST"]);
    expect(response.headers.get("Content-Type")).toContain("text/plain");
  });

  test("is plain text in the agent server", async () => {
    const { viewer } = await workspace();
    const response = await api("/agents/x/nothing", { key: viewer });
    expect([response.status, await response.text()]).toEqual([404, "404 Not Found"]);
  });
});

describe("a body over 10 MB", () => {
  const bytes = new Uint8Array(10 * 1024 * 1024 + 1);
  const post = async (body: BodyInit) =>
    exports.default.fetch("https://heddle.test/v2/deployments", {
      method: "POST",
      headers: { "X-Api-Key": (await workspace()).editor, "Content-Type": "application/json" },
      body,
    });

  test.each([
    ["of declared length", () => post(bytes)],
    ["in chunks", () => post(new Blob([bytes]).stream())],
  ])("is refused with the limit: %s", async (_, send) => {
    const response = await send();
    expect(response.status).toBe(413);
    expect(await response.json()).toEqual({
      detail: "The body has more than 10485760 bytes: send a smaller one.",
    });
  });
});

describe("the API's document", () => {
  test("is OpenAPI 3.1 with the version, the origin and the ways to authenticate", async () => {
    const document = await (await api("/openapi.json")).json<Document>();
    expect(document.openapi).toBe("3.1.0");
    expect(document.info).toMatchObject({ title: "Heddle", version });
    expect(document.servers).toEqual([{ url: "https://heddle.test" }]);
    expect(Object.keys(document.components.securitySchemes)).toEqual([
      "ApiKey",
      "TenantId",
      "Bearer",
    ]);
  });

  test("declares optional times as nullable", async () => {
    const { components } = await (await api("/openapi.json")).json<Components>();
    const { state_updated_at } = components.schemas.Thread?.properties ?? {};
    expect(state_updated_at).toMatchObject({ type: ["string", "null"], format: "date-time" });
    const { s3_additional_kwargs } =
      components.schemas.BulkExportDestinationConfig?.properties ?? {};
    expect(s3_additional_kwargs).toMatchObject({ type: ["object", "null"] });
  });

  test("declares the errors of a missing key and of an invalid body", async () => {
    const { paths } = await (await api("/openapi.json")).json<Document>();
    const answer = (path: string, status: string) =>
      Object.keys(Object(paths[path]?.post?.responses[status]).content ?? {});
    expect(answer("/api/v1/runs/stats", "401")).toEqual(["application/json"]);
    expect(answer("/api/v2/runs/query", "415")).toEqual(["application/problem+json"]);
    expect(answer("/agents/{deployment_id}/threads", "429")).toEqual(["text/plain"]);
    expect(paths["/ok"]?.get?.responses).not.toHaveProperty("401");
  });

  test("gives each operation a tag and a unique id", async () => {
    const document = await (await api("/openapi.json")).json<Document>();
    const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(operations.length);
    for (const { tags } of operations) expect(tags).toHaveLength(1);
  });

  test.each(["/v2/", "/v1/", "/agents/"])(
    "names how each operation refuses: %s",
    async (family) => {
      const { paths } = await (await api("/openapi.json")).json<Document>();
      const operations = Object.entries(paths)
        .filter(([path]) => path.startsWith(family))
        .flatMap(([, operations]) => Object.values(operations));
      expect(operations).not.toEqual([]);
      for (const operation of operations) {
        const { operationId, responses } = operation;
        const named = refusalsOf(operation);
        expect(Object.keys(responses), operationId).toEqual(expect.arrayContaining(named));
      }
    },
  );

  test("is shown by a viewer that loads nothing from another host", async () => {
    const response = await api("/docs");
    const page = await response.text();
    expect(response.headers.get("Content-Type")).toContain("text/html");
    expect(page).not.toMatch(/(src|href)="(https?:)?\/\//);
    expect(page).toContain('src="/docs/viewer.js"');
    expect(response.headers.get("Content-Security-Policy")).toContain("default-src 'none'");
  });

  test.each([
    ["/docs/viewer.js", "text/javascript", "SwaggerUIBundle"],
    ["/docs/viewer.css", "text/css", ".swagger-ui"],
  ])("has its viewer at %s", async (path, type, text) => {
    const response = await api(path);
    expect(response.headers.get("Content-Type")).toContain(type);
    expect(await response.text()).toContain(text);
  });
});

describe("an agent's document", () => {
  let agent: string;
  beforeAll(async () => {
    const { workspace_id } = await workspace();
    agent = `/agents/${(await testDeployment(workspace_id)).deployment_id}`;
  });

  test("has the agent as its server and paths without the deployment", async () => {
    const response = await api(`${agent}/openapi.json`);
    expect(response.status).toBe(200);
    const document = await response.json<Document & { paths: Record<string, unknown> }>();
    expect(document.openapi).toBe("3.1.0");
    expect(document.servers).toEqual([{ url: `https://heddle.test${agent}` }]);
    const all = await (await api("/openapi.json")).json<Document>();
    const prefix = "/agents/{deployment_id}";
    const own = Object.keys(all.paths).filter((path) => path.startsWith(`${prefix}/`));
    expect(Object.keys(document.paths)).toEqual(own.map((path) => path.slice(prefix.length)));
    expect(JSON.stringify(document.paths)).not.toContain('"name":"deployment_id"');
    expect(document.info.title).toMatch(/^test-/);
    const used = Object.values(document.paths).flatMap((item) =>
      Object.values(item).flatMap(({ tags = [] }) => tags),
    );
    expect(document.tags.map(({ name }) => name).sort()).toEqual([...new Set(used)].sort());
    expect(document.paths["/threads/{thread_id}/runs"]?.post?.operationId).toBe("createRun");
  });

  test("is shown by a viewer beside it", async () => {
    const page = await (await api(`${agent}/docs`)).text();
    expect(page).toContain('src="docs/viewer.js"');
    expect(page).toContain('url: "openapi.json"');
    const viewer = await api(`${agent}/docs/viewer.js`);
    expect(await viewer.text()).toContain("SwaggerUIBundle");
  });

  test("is 404 for an unknown agent and for one that switches it off", async () => {
    const missing = await api(`/agents/${crypto.randomUUID()}/docs`);
    expect(missing.status).toBe(401);
    const owner = await workspace();
    const { workspace_id, viewer: key } = owner;
    const off = await testDeployment(workspace_id, { http: { disable_meta: true } });
    for (const path of ["/docs", "/openapi.json", "/docs/viewer.css"]) {
      const response = await api(`/agents/${off.deployment_id}${path}`, { key });
      expect([response.status, await response.text()]).toEqual([404, "404 Not Found"]);
    }
    expect((await missing.text()).length).toBeGreaterThan(0);
  });
});

test("a path of an agent with two @ is not found, as text", async () => {
  const response = await api("/agents/a%40b%40c/threads/search", { json: {} });
  expect(response.status).toBe(404);
  expect(response.headers.get("Content-Type")).toMatch(/^text\/plain/);
  expect(await response.text()).toContain("two @");
});
