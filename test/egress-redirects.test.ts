import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from "vitest";
import { consumeWebhook } from "../src/agent-server/webhooks/consumer.ts";
import { payloadKey } from "../src/agent-server/webhooks/payloads.ts";
import { run_webhooks } from "../src/agent-server/webhooks/table.ts";
import { createApp } from "../src/app.ts";
import type { BuildOrder } from "../src/control-plane/builds/contract.ts";
import { PrebuiltUnits } from "../src/control-plane/builds/prebuilt/units.ts";
import { BuildStorage } from "../src/control-plane/builds/queue/storage.ts";
import { fetchByGit } from "../src/control-plane/builds/source/git.ts";
import { toRepository } from "../src/control-plane/builds/source/hosts.ts";
import { fetchSource } from "../src/control-plane/builds/source/source.ts";
import { reportCommitStatus } from "../src/control-plane/deployments/git/commit-status-service.ts";
import { deployments } from "../src/control-plane/deployments/table.ts";
import type { ProviderAccess } from "../src/control-plane/oauth/client/provider-access.ts";
import { requestGrant } from "../src/control-plane/oauth/client/provider-client.ts";
import { revokeGrant } from "../src/control-plane/oauth/client/revoke.ts";
import { database } from "../src/shared/context.ts";
import { Egress } from "../src/shared/egress/agent-egress.ts";
import { newId } from "../src/shared/storage/ids.ts";
import { providerBody } from "./control-plane/oauth/support.ts";
import { testDeployment } from "./support/agent-deployment.ts";
import { bucket } from "./support/belongings.ts";
import { deploymentRow, revisionRow } from "./support/deployment.ts";
import { privateKeyPem } from "./support/private-key.ts";
import { PUBLIC_ONLY } from "./support/public-only.ts";
import { type TestWorkspace, workspace } from "./support/workspace.ts";

/**
 * Public addresses of users redirect to private ones, whose paths end in /inside and are never requested. The
 * internet is simulated; the rest is real.
 */
const dns_url = inject("dns_url");
const cautious = { ...env, ...PUBLIC_ONLY, EGRESS_DNS_URL: dns_url };
const policy = { allow_private: false, dns_url };
const app = createApp();

const INSIDE = [
  "https://127.0.0.1/inside",
  "https://127.1:8443/inside",
  "https://2130706433/inside",
  "https://0x7f000001/inside",
  "https://017700000001/inside",
  "https://169.254.169.254/latest/meta-data/inside",
  "https://2852039166/inside",
  "https://10.0.0.1/inside",
  "https://[::1]/inside",
  "https://[::ffff:127.0.0.1]/inside",
  "https://[fe80::1]/inside",
  "https://localhost/inside",
  "https://metadata.google.internal/inside",
  "https://private.example.com/inside",
  "https://mixed.example.com/inside",
  "http://127.0.0.1/inside",
  "http://public.example.com/inside",
  "//127.0.0.1/inside",
];

type Answer = (request: Request) => Response;

let ours: TestWorkspace;
let agent: { deployment_id: string };
let requests: string[];
let answer: Answer;

beforeAll(async () => {
  ours = await workspace();
  agent = await testDeployment(ours.workspace_id);
});

beforeEach(() => {
  requests = [];
  const real = globalThis.fetch;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const request = new Request(input, init);
    const { hostname, pathname } = new URL(request.url);
    const isInside = pathname.endsWith("/inside");
    if (!isInside && !hostname.endsWith(".example.com")) return real(request);
    requests.push(`${request.method} ${request.url}`);
    return isInside ? new Response("what nobody may see") : answer(request);
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

const to = (location: string, status = 302) =>
  new Response(null, { status, headers: { location } });

const json = (body: unknown, init?: ResponseInit) => Response.json(body, init);

/** Returns the result or the error as text, which must not contain internal data. */
async function call(path: string, body?: unknown): Promise<string> {
  const request = new Request(`https://heddle.test${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { "X-Api-Key": ours.admin, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const response = await app.fetch(request, cautious, createExecutionContext());
  return `${response.status} ${await response.text()}`;
}

async function made(path: string, body: unknown): Promise<Record<string, string>> {
  const text = await call(path, body);
  expect(text).toMatch(/^20[01] /);
  return JSON.parse(text.slice(4));
}

const failed = (work: Promise<unknown>) =>
  work.then(
    (value) => `no failure: ${JSON.stringify(value)}`,
    (error: Error & { reason?: string }) => `${error.reason ?? error.name}: ${error.message}`,
  );

const REPO_URL = "https://git.example.com/acme/agent";
const order: BuildOrder = {
  ...policy,
  deployment_id: "dep-1",
  revision_id: crypto.randomUUID(),
  source: { kind: "git", repo_url: REPO_URL, repo_ref: "main", token: "secret" },
  config_path: "langgraph.json",
  registry_url: "https://registry.example.com/",
};

const provider: ProviderAccess = {
  provider_id: "p",
  provider_type: null,
  token_url: "https://idp.example.com/token",
  revocation_url: null,
  client_id: "client",
  client_secret: "secret",
  token_endpoint_auth_method: "client_secret_post",
  token_request_headers: {},
  resource: null,
};
const grant = { access_token: "access", refresh_token: "refresh" };

const API_URL = "https://git.example.com/api/v3";
const discover = () =>
  call("/v2/auth/providers/mcp-discover", {
    provider_id: `m-${crypto.randomUUID()}`,
    name: "MCP",
    mcp_server_url: "https://mcp.example.com/mcp",
  });

/** An MCP server and its issuer, one of whose answers leads inside. */
function mcp(parts: Record<string, () => Response>): Answer {
  return ({ url }) => {
    const { hostname, pathname } = new URL(url);
    const path = hostname + pathname.replace(/^\/\.well-known/, "");
    const known: Record<string, () => Response> = {
      "mcp.example.com/mcp": () => new Response(null, { status: 401 }),
      "mcp.example.com/oauth-protected-resource/mcp": () =>
        json({
          resource: "https://mcp.example.com/mcp",
          authorization_servers: ["https://idp.example.com"],
        }),
      "idp.example.com/oauth-authorization-server": () => json(METADATA),
      "idp.example.com/register": () => json({ client_id: "client" }, { status: 201 }),
      ...parts,
    };
    return known[path]?.() ?? new Response("no", { status: 404 });
  };
}

const METADATA = {
  issuer: "https://idp.example.com",
  authorization_endpoint: "https://idp.example.com/auth",
  token_endpoint: "https://idp.example.com/token",
  registration_endpoint: "https://idp.example.com/register",
};

type Lead = (inside: string) => Promise<string>;

/** Requests that Heddle makes on a user's behalf. Each is redirected inside and returns its outcome. */
const LEADS: Record<string, Lead> = {
  "the archive of a repository": (inside) => {
    answer = () => to(inside);
    return failed(
      fetchSource(
        new BuildStorage(env.ARTIFACTS, order, new PrebuiltUnits(env.ARTIFACTS, {})),
        order,
      ),
    );
  },
  "the refs of a repository by git": (inside) => {
    answer = () => to(inside, 307);
    return failed(fetchByGit(policy, toRepository(REPO_URL), "main", null));
  },
  "a repository without an archive": (inside) => {
    answer = ({ url }) => (url.includes("info/refs") ? to(inside) : json({}, { status: 404 }));
    return failed(
      fetchSource(
        new BuildStorage(env.ARTIFACTS, order, new PrebuiltUnits(env.ARTIFACTS, {})),
        order,
      ),
    );
  },
  "the repositories of an integration": async (inside) => {
    const { id } = await made("/v1/integrations/github/install", {
      name: crypto.randomUUID(),
      token: "secret",
      api_url: API_URL,
    });
    answer = () => to(inside);
    return call(`/v1/integrations/github/${id}/repos`);
  },
  "the token of an app": async (inside) => {
    const { id } = await made("/v1/integrations/github/install", {
      name: crypto.randomUUID(),
      api_url: API_URL,
      app: { app_id: "1", installation_id: 1, private_key: PEM },
    });
    answer = () => to(inside, 307);
    return call(`/v1/integrations/github/${id}/repos`);
  },
  "the status of a commit": async (inside) => {
    const { id: integration_id } = await made("/v1/integrations/github/install", {
      name: crypto.randomUUID(),
      token: "secret",
      api_url: API_URL,
    });
    const deployment = await deploymentRow(ours.workspace_id);
    await database(env)
      .update(deployments)
      .set({ source_config: { repo_url: REPO_URL, ...(integration_id && { integration_id }) } })
      .where(eq(deployments.id, deployment.id));
    const revision = await revisionRow(deployment, { repo_commit_sha: "c".repeat(40) });
    answer = () => to(inside, 308);
    await reportCommitStatus(cautious, revision.id);
    return "refused, which keeps no build";
  },
  "the exchange of a code": async (inside) => {
    const { provider_id } = await made("/v2/auth/providers", {
      ...providerBody(),
      auth_url: "https://idp.example.com/auth",
      token_url: "https://idp.example.com/token",
    });
    const { url = "" } = await made("/v2/auth/authenticate", {
      provider: provider_id,
      scopes: [],
    });
    answer = () => to(inside, 307);
    const state = new URL(url).searchParams.get("state");
    return call(`/v2/auth/callback/${provider_id}`, { code: "c", state });
  },
  "the refresh of a token": async (inside) => {
    answer = () => to(inside, 308);
    const params = { grant_type: "refresh_token", refresh_token: "refresh" };
    return JSON.stringify(await requestGrant(cautious, provider, params));
  },
  "where a provider revokes": async (inside) => {
    answer = () => to(inside);
    return JSON.stringify(await revokeGrant(cautious, provider, grant));
  },
  "a revocation_endpoint that is published": async (inside) => {
    const named = { ...METADATA, revocation_endpoint: inside };
    answer = ({ method }) => (method === "GET" ? json(named) : to(inside, 307));
    return JSON.stringify(await revokeGrant(cautious, provider, grant));
  },
  "a revocation_url": async (inside) => {
    answer = () => to(inside, 307);
    const revocation_url = "https://idp.example.com/revoke";
    return JSON.stringify(await revokeGrant(cautious, { ...provider, revocation_url }, grant));
  },
  "an MCP server": (inside) => {
    answer = () => to(inside);
    return discover();
  },
  "the metadata that an MCP server names": (inside) => {
    const headers = { "WWW-Authenticate": `Bearer resource_metadata="${inside}"` };
    answer = mcp({ "mcp.example.com/mcp": () => new Response(null, { status: 401, headers }) });
    return discover();
  },
  "the issuer of an MCP server": (inside) => {
    const resource = { resource: "https://mcp.example.com/mcp", authorization_servers: [inside] };
    answer = mcp({ "mcp.example.com/oauth-protected-resource/mcp": () => json(resource) });
    return discover();
  },
  "the endpoints of an MCP server's issuer": (inside) => {
    const metadata = { ...METADATA, registration_endpoint: inside };
    answer = mcp({ "idp.example.com/oauth-authorization-server": () => json(metadata) });
    return discover();
  },
  "the registration of a client": (inside) => {
    answer = mcp({ "idp.example.com/register": () => to(inside, 307) });
    return discover();
  },
  "the webhook of a run": async (inside) => {
    answer = () => to(inside, 307);
    const run_id = newId();
    const place = { deployment_id: agent.deployment_id, run_id };
    const now = new Date().toISOString();
    await env.ARTIFACTS.put(payloadKey(place), "{}");
    await database(env)
      .insert(run_webhooks)
      .values({
        ...place,
        workspace_id: ours.workspace_id,
        thread_id: newId(),
        url: "https://hooks.example.com/run",
        status: "pending",
        attempt: 0,
        attempts: [],
        due_at: now,
        sent_at: now,
        created_at: now,
      });
    await consumeWebhook(cautious, { type: "run_webhook", run_webhook_id: run_id });
    const isOurs = eq(run_webhooks.run_id, run_id);
    return JSON.stringify(await database(env).select().from(run_webhooks).where(isOurs));
  },
  "a bucket": (inside) => {
    answer = () =>
      new Response(`<Error><Code>TemporaryRedirect</Code><Endpoint>${inside}</Endpoint></Error>`, {
        status: 307,
        headers: { location: inside },
      });
    const { config } = bucket();
    return call("/api/v1/bulk-exports/destinations", {
      ...bucket(),
      config: { ...config, endpoint_url: "https://s3.example.com" },
    });
  },
  "what an agent fetches": async (inside) => {
    answer = () => to(inside);
    const ctx = Object.assign(createExecutionContext(), { props: { deployment_id: "d" } });
    const egress = new Egress(ctx, cautious);
    const first = await egress.fetch(new Request("https://api.example.com/"));
    const location = first.headers.get("location") ?? "";
    const next = new URL(location, "https://api.example.com/");
    const second = await egress.fetch(new Request(next));
    return `${first.status} ${second.status} ${await second.text()}`;
  },
};

let PEM: string;
beforeAll(async () => {
  PEM = await privateKeyPem();
});

describe.each(Object.entries(LEADS))("%s leads nowhere", (_, lead) => {
  test.each(INSIDE)("to %s", async (inside) => {
    const ended = await lead(inside);
    expect(requests.filter((url) => url.endsWith("/inside"))).toEqual([]);
    expect(requests).not.toEqual([]);
    expect(ended).not.toMatch(/nobody may see|no failure|^20\d/);
  });
});

test("a redirect to a public address is followed, so that the above has something to refuse", async () => {
  answer = ({ url }) =>
    url.includes("moved") ? json({ message: "Not Found" }, { status: 404 }) : to("/moved");
  const { id } = await made("/v1/integrations/github/install", {
    name: crypto.randomUUID(),
    token: "secret",
    api_url: API_URL,
  });
  expect(await call(`/v1/integrations/github/${id}/repos`)).toMatch(/^400 .*with the status 404/);
  expect(requests.at(-1)).toBe("GET https://git.example.com/moved");
});

test.each(["<html>sign in</html>", '{"message": "moved"}', '[{"id": "1"}]'])(
  "an address that answers %s is not taken for that of an API",
  async (text) => {
    answer = () => new Response(text);
    const { id } = await made("/v1/integrations/github/install", {
      name: crypto.randomUUID(),
      token: "secret",
      api_url: API_URL,
    });
    expect(await call(`/v1/integrations/github/${id}/repos`)).toMatch(/^400 .*check that api_url/);
  },
);
