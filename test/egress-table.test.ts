import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { createApp } from "../src/app.ts";
import { providerBody } from "./control-plane/oauth/support.ts";
import { testDeployment } from "./support/agent-deployment.ts";
import { bucket } from "./support/belongings.ts";
import { PUBLIC_ONLY } from "./support/public-only.ts";
import { type TestWorkspace, workspace } from "./support/workspace.ts";

const cautious = { ...env, ...PUBLIC_ONLY };
const app = createApp();
let ours: TestWorkspace;
let deployment_id: string;

beforeAll(async () => {
  ours = await workspace();
  ({ deployment_id } = await testDeployment(ours.workspace_id));
});

const PRIVATE = [
  "https://127.0.0.1/x",
  "https://127.1/x",
  "https://2130706433/x",
  "https://017700000001/x",
  "https://0x7f000001/x",
  "https://0/x",
  "https://10.0.0.1:8443/x",
  "https://169.254.169.254/latest/meta-data/",
  "https://192.168.1.1/x",
  "https://[::1]/x",
  "https://[::ffff:127.0.0.1]/x",
  "https://[::ffff:7f00:1]/x",
  "https://[fd00::1]/x",
  "https://[fe80::1]/x",
  "https://[64:ff9b::a00:1]/x",
  "https://localhost/x",
  "https://localhost./x",
  "https://LOCALHOST/x",
  "https://api.localhost/x",
  "https://metadata.google.internal/x",
  "https://intranet/x",
  "https://user:secret@example.com/x",
  "http://example.com/x",
  "ftp://example.com/x",
  "file:///etc/passwd",
];

type UrlField = (url: string) => [path: string, body: unknown];

const serverOf = (url: string) => url.replace(/\/[^/]*(\/meta-data\/)?$/, "");

const PLACES: Record<string, UrlField> = {
  "the repository of a deployment": (repo_url) => [
    "/v2/deployments",
    {
      name: `agent-${crypto.randomUUID()}`,
      source: "github",
      source_config: { repo_url, deployment_type: "dev" },
      source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" },
      secrets: [],
    },
  ],
  "the API of an integration": (api_url) => [
    "/v1/integrations/github/install",
    { name: "host", token: "secret", api_url },
  ],
  "auth_url of a provider": (auth_url) => ["/v2/auth/providers", providerOf({ auth_url })],
  "token_url of a provider": (token_url) => ["/v2/auth/providers", providerOf({ token_url })],
  "revocation_url of a provider": (revocation_url) => [
    "/v2/auth/providers",
    providerOf({ revocation_url }),
  ],
  "an MCP server": (mcp_server_url) => [
    "/v2/auth/providers/mcp-discover",
    { provider_id: `m-${crypto.randomUUID()}`, name: "MCP", mcp_server_url },
  ],
  "the webhook of a run": (webhook) => [
    `/agents/${deployment_id}/runs`,
    { assistant_id: "echo", webhook },
  ],
  "the endpoint of a bucket": (url) => [
    "/api/v1/bulk-exports/destinations",
    { ...bucket(), config: { ...bucket().config, endpoint_url: serverOf(url) } },
  ],
};

function providerOf(fields: Record<string, string>) {
  const [auth_url, token_url] = [
    "https://provider.example.com/auth",
    "https://provider.example.com/token",
  ];
  return providerBody({ auth_url, token_url, ...fields });
}

describe.each(Object.entries(PLACES))("%s", (_, place) => {
  test.each(PRIVATE)("is not %s", async (url) => {
    const [path, body] = place(url);
    const request = new Request(`https://heddle.test${path}`, {
      method: "POST",
      headers: { "X-Api-Key": ours.admin, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const response = await app.fetch(request, cautious, createExecutionContext());
    const text = await response.text();
    expect([response.status, text]).toEqual([
      expect.toSatisfy((status: number) => status === 400 || status === 422),
      expect.stringMatching(/public|private|https|must be|protocol/),
    ]);
  });
});
