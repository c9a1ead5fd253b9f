import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { handleRequest } from "../../../src/handle-request.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { agentWithUsers, answerOf } from "../../support/agent-users.ts";
import { api, workspace } from "../../support/workspace.ts";

const PUBLIC_APP = { app: "./src/app.ts:app", enable_custom_route_auth: false };
const COOKIES = "heddle=secret; other=1";

let base: string;
let slug: string;
let admin: string;
beforeAll(async () => {
  const ours = await workspace();
  admin = ours.admin;
  const http = { ...PUBLIC_APP, mount_prefix: "/mounted" };
  const { deployment_id } = await testDeployment(ours.workspace_id, { http });
  base = `/agents/${deployment_id}`;
  slug = `test-${deployment_id}`;
});

/** Ways to spell the URL of an agent on the shared origin; not all of them have to be routed. */
const spellings = () => [
  base,
  `/api-host${base}`,
  base.replace("/agents", "/%61gents"),
  `${base}/mounted`,
];

/** The policies of a response, as browsers split them. */
const policiesOf = ({ headers }: { headers: Headers }) =>
  (headers.get("Content-Security-Policy") ?? "").split(",").map((policy) => policy.trim());

/** A browser puts a document into an opaque origin when one of its policies has such a directive. */
function isSandboxed(response: { headers: Headers }): boolean {
  const tokens = policiesOf(response).map((policy) => policy.split(/[\s;]+/));
  return tokens.some(
    ([first, ...flags]) => first === "sandbox" && !flags.includes("allow-same-origin"),
  );
}

const answers = (at: string, query: Record<string, string>) =>
  api(`${at}/custom/answers?${new URLSearchParams(query)}`);

describe("responses of an agent's app on the shared origin", () => {
  test.each([
    "text/html",
    "image/svg+xml",
    "application/xhtml+xml",
    "text/plain",
    "text/javascript",
  ])("%s is sandboxed, however the URL is spelled", async (type) => {
    for (const at of spellings()) {
      const response = await answers(at, { type });
      const isFromApp = (await response.text()) === "<script>";
      expect(isSandboxed(response) || !isFromApp, at).toBe(true);
      expect(isFromApp || !at.startsWith(base), at).toBe(true);
      expect(response.headers.get("X-Content-Type-Options"), at).toBe("nosniff");
    }
  });

  test.each([
    "default-src 'self'",
    "sandbox allow-scripts allow-same-origin",
    "sandbox allow-same-origin, default-src *",
    "x\"'; sandbox allow-same-origin",
  ])("keep the app's own policy %j, which weakens nothing", async (own) => {
    const response = await answers(base, { "content-security-policy": own });
    expect(isSandboxed(response)).toBe(true);
    expect(response.headers.get("Content-Security-Policy")).toContain(`, ${own}`);
  });

  test("lose headers that act on the whole origin", async () => {
    const sent = {
      "accept-ch": "Sec-CH-UA-Model",
      "alt-svc": 'h3="evil.example:443"',
      "clear-site-data": '"*"',
      "cross-origin-opener-policy": "same-origin",
      nel: '{"report_to":"x","max_age":9}',
      "origin-agent-cluster": "?1",
      "public-key-pins": "max-age=9",
      "report-to": '{"group":"x","max_age":9,"endpoints":[{"url":"https://evil.example"}]}',
      "service-worker-allowed": "/",
      "set-cookie": "session=evil; Path=/",
      "set-cookie2": "session=evil",
      "set-login": "logged-in",
      "speculation-rules": '"/rules.json"',
      "strict-transport-security": "max-age=0",
      "www-authenticate": 'Bearer realm="x", Basic realm="x"',
    };
    const response = await answers(base, { ...sent, "x-own": "kept", link: "</next>; rel=next" });
    const left = Object.keys(sent).filter((name) => response.headers.has(name));
    expect(left).toEqual([]);
    expect(response.headers.get("X-Own")).toBe("kept");
    expect(response.headers.get("Link")).toBe("</next>; rel=next");
  });

  test("keep a challenge that browsers do not store", async () => {
    const challenge = 'Bearer resource_metadata="https://agent.example/x"';
    const response = await answers(base, { "www-authenticate": challenge });
    expect(response.headers.get("WWW-Authenticate")).toBe(challenge);
  });

  test("come without the origin's cookies having reached the app", async () => {
    const headers = { Cookie: COOKIES, "Cf-Access-Jwt-Assertion": "token", "X-Own": "1" };
    for (const at of spellings()) {
      const answer = await answerOf(`${at}/custom/cookies`, { headers });
      expect(answer.text, at).not.toMatch(/secret|token/);
      expect(answer.headers.getSetCookie(), at).toEqual([]);
      if (at.startsWith(base)) expect(answer.json, at).toMatchObject({ "x-own": "1" });
    }
  });

  test("include refusals of the agent's auth", async () => {
    const { as } = await agentWithUsers();
    const refused = await as("page")("/threads/search", { json: {} });
    expect([refused.status, refused.text]).toEqual([403, "<script>"]);
    expect(refused.headers.get("Content-Type")).toBe("text/html");
    expect(isSandboxed(refused)).toBe(true);
    expect(refused.headers.getSetCookie()).toEqual([]);
    const shown = await as("shows")("/threads/search", { json: {}, headers: { Cookie: COOKIES } });
    expect([shown.status, shown.text]).toEqual([403, "no cookie"]);
  });

  test("include the files of its components", async () => {
    expect(isSandboxed(await api(`${base}/ui/x/entrypoint.js`))).toBe(true);
    const page = { key: admin, json: { name: "x" } };
    expect(isSandboxed(await api(`${base}/ui/x`, page))).toBe(true);
  });
});

test.each([{ "Service-Worker": "script" }, { "Sec-Fetch-Dest": "serviceworker" }])(
  "requests with %j are refused on the shared origin",
  async (headers) => {
    for (const path of [...spellings().map((at) => `${at}/custom/answers`), "/docs/viewer.js"]) {
      const { status, text } = await answerOf(path, { headers });
      expect([path, status, text]).toEqual([path, 403, expect.stringContaining("Service workers")]);
    }
  },
);

describe("the host name of an agent", () => {
  const call = (path: string, headers: Record<string, string> = {}) =>
    handleRequest(
      new Request(`https://${slug}.agents.test${path}`, { headers }),
      Object.create(env, { AGENTS_DOMAIN: { value: "agents.test" } }),
      createExecutionContext(),
    );

  test("has its own cookies, service workers and policies", async () => {
    const headers = { Cookie: COOKIES, "Service-Worker": "script" };
    const response = await call("/custom/cookies", headers);
    expect(await response.json()).toMatchObject({ cookie: COOKIES });
    expect(response.headers.getSetCookie()).toHaveLength(2);
    const query = "content-security-policy=default-src 'self'&service-worker-allowed=/";
    const page = await call(`/custom/answers?${query}`);
    expect(page.headers.get("Content-Security-Policy")).toBe("default-src 'self'");
    expect(page.headers.get("Service-Worker-Allowed")).toBe("/");
  });
});

test.each(["/docs", "/ok", "/openapi.json", "/nothing", "/v2/deployments"])(
  "%s is not sniffed for another type, and not sandboxed",
  async (path) => {
    const response = await api(path);
    expect(response.headers.get("X-Content-Type-Options")).toBe("nosniff");
    expect(isSandboxed(response)).toBe(false);
  },
);

test("pages of the control plane isolate their browsing context", async () => {
  const callback = `/v2/auth/callback/${crypto.randomUUID()}?state=${"x".repeat(43)}&code=1`;
  for (const path of ["/docs", callback]) {
    const { headers } = await api(path);
    expect(headers.get("Content-Type"), path).toContain("text/html");
    expect(headers.get("Cross-Origin-Opener-Policy"), path).toBe("same-origin");
    const policy = headers.get("Content-Security-Policy");
    expect(policy, path).toContain("frame-ancestors 'none'");
    expect(policy, path).toMatch(/form-action '(self|none)'/);
  }
});
