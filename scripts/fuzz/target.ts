import type { StackInfo } from "../../local/stack.ts";

export type Target = { base_url: string; api_keys: readonly string[] };
type Made = Record<string, string>;
type Make = (path: string, body: unknown) => Promise<Made>;

/** Time for the build of a small agent, on a busy machine. */
const DEPLOY_MS = 120_000;

/** Creates a resource of each kind. Returns their ids by name. */
export async function createResources(
  { base_url, api_keys }: Target,
  info: StackInfo,
): Promise<Made> {
  const headers = { "x-api-key": api_keys[0] ?? "", "content-type": "application/json" };
  const send = async (path: string, init: RequestInit): Promise<Made> => {
    const response = await fetch(base_url + path, { ...init, headers });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return JSON.parse(text) as Made;
  };
  const make: Make = (path, body) => send(path, { method: "POST", body: JSON.stringify(body) });
  const deployment = await make("/v2/deployments", {
    name: "fuzzed",
    source: "github",
    source_config: { repo_url: `${info.git.url}/examples/echo.git`, deployment_type: "dev" },
    source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" },
    secrets: [],
  });
  const revision = `/v2/deployments/${deployment.id}/revisions/${deployment.latest_revision_id}`;
  await awaitDeployed(() => send(revision, {}));
  return {
    deployment_id: deployment.id ?? "",
    revision_id: deployment.latest_revision_id ?? "",
    ...(await agents(make, `/agents/${deployment.id}`)),
    ...(await traces(make)),
    ...(await others(make, info)),
  };
}

async function awaitDeployed(read: () => Promise<Made>): Promise<void> {
  const until = Date.now() + DEPLOY_MS;
  for (let status = ""; status !== "DEPLOYED"; ) {
    ({ status = "" } = await read());
    if (status.endsWith("FAILED") || Date.now() > until) {
      throw new Error(`The deployment to fuzz is ${status}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function agents(make: Make, path: string): Promise<Made> {
  const { thread_id = "" } = await make(`${path}/threads`, {});
  const input = { messages: [{ role: "user", content: "hello" }] };
  const run = await make(`${path}/threads/${thread_id}/runs`, { assistant_id: "echo", input });
  const yearly = { assistant_id: "echo", schedule: "0 0 1 1 *" };
  const { cron_id = "" } = await make(`${path}/runs/crons`, yearly);
  return { thread_id, agent_run_id: run.run_id ?? "", assistant_id: "echo", cron_id };
}

async function traces(make: Make): Promise<Made> {
  const { id: session_id = "" } = await make("/api/v1/sessions", { name: "fuzzed-runs" });
  const run_id = crypto.randomUUID();
  const run = { id: run_id, name: "fuzzed", run_type: "chain", session_id };
  await make("/api/v1/runs", run);
  const feedback = await make("/api/v1/feedback", { run_id, key: "good", score: 1 });
  return { session_id, run_id, feedback_id: feedback.id ?? "" };
}

async function others(make: Make, { git, s3 }: StackInfo): Promise<Made> {
  const { bucket: bucket_name, endpoint: endpoint_url, region, ...credentials } = s3;
  const destination = await make("/api/v1/bulk-exports/destinations", {
    destination_type: "s3",
    display_name: "fuzzed",
    config: { bucket_name, endpoint_url, region, prefix: "fuzz" },
    credentials,
  });
  const provider = await make("/v2/auth/providers", {
    provider_id: "fuzzed",
    name: "Fuzzed",
    client_id: "client",
    auth_url: "http://127.0.0.1:9/auth",
    token_url: "http://127.0.0.1:9/token",
  });
  // The stack's git host: another host would be called over the internet.
  const host = { name: "fuzzed", token: "t", api_url: git.url };
  const integration = await make("/v1/integrations/github/install", host);
  return {
    destination_id: destination.id ?? "",
    bulk_export_destination_id: destination.id ?? "",
    provider_id: provider.provider_id ?? "",
    provider: provider.provider_id ?? "",
    integration_id: integration.id ?? "",
  };
}
