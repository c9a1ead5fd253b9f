import type { StackInfo } from "../local/stack.ts";

export type Target = { base_url: string; api_key: string };
type Made = Record<string, string>;

/** One of everything that requests can be about. */
export async function belongings(target: Target, { git, s3 }: StackInfo): Promise<Made> {
  const make = async (path: string, body: unknown): Promise<Made> => {
    const headers = { "x-api-key": target.api_key, "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(target.base_url + path, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return JSON.parse(text) as Made;
  };
  const deployment = await make("/v2/deployments", {
    name: "fuzzed",
    source: "github",
    source_config: { repo_url: `${git.url}/chat.git`, deployment_type: "dev" },
    source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" },
    secrets: [],
  });
  const session = await make("/api/v1/sessions", { name: "fuzzed-runs" });
  const run_id = crypto.randomUUID();
  await make("/api/v1/runs", {
    id: run_id,
    name: "fuzzed",
    run_type: "chain",
    session_id: session.id,
  });
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
  return {
    deployment_id: deployment.id ?? "",
    revision_id: deployment.latest_revision_id ?? "",
    session_id: session.id ?? "",
    session: session.id ?? "",
    run_id,
    destination_id: destination.id ?? "",
    bulk_export_destination_id: destination.id ?? "",
    provider_id: provider.provider_id ?? "",
    assistant_id: "chat",
  };
}
