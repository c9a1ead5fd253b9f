import { env } from "cloudflare:workers";
import { type Artifact, CONTRACT } from "../../src/control-plane/builds/contract.ts";
import { deployments, revisions } from "../../src/control-plane/deployments/table.ts";
import { type Context, contextFor, database } from "../../src/shared/context.ts";
import { newId } from "../../src/shared/storage/ids.ts";

type Deployment = typeof deployments.$inferInsert;
type Revision = typeof revisions.$inferInsert;
export type RevisionFields = Partial<Revision>;

export const DESCRIPTORS = [
  { graph_id: "agent", kind: "function", description: null, nodes: [], schemas: {} },
];

/** A minimal isolate: it describes one graph and returns its environment. */
export const AGENT_MODULE = `
import { WorkerEntrypoint } from "cloudflare:workers";
export class Agent extends WorkerEntrypoint {
  async describe() { return { ok: true, value: ${JSON.stringify(DESCRIPTORS)} }; }
  async environment() { return { ...this.env }; }
}`;

export function systemContext(workspace_id: string, role: Context["caller"]["role"] = "admin") {
  return contextFor(env, {
    organization_id: newId(),
    workspace_id,
    role,
    plan: "enterprise",
    actor: { type: "system", job: "test" },
  });
}

/** An artifact as the builder leaves it in R2; returns its key. */
export async function putArtifact(
  source = AGENT_MODULE,
  others: Artifact["modules"] = {},
): Promise<string> {
  const artifact: Artifact = {
    contract: CONTRACT,
    compatibility_date: "2026-11-01",
    main_module: "main.js",
    modules: { "main.js": source, ...others },
  };
  const key = `artifacts/${crypto.randomUUID()}.json`;
  await env.ARTIFACTS.put(key, JSON.stringify(artifact));
  return key;
}

/** Rows as the control plane writes them, without a message to the builder. */
export async function deploymentRow(workspace_id: string, fields: Partial<Deployment> = {}) {
  const id = newId();
  const now = new Date().toISOString();
  const row: Deployment = {
    id,
    workspace_id,
    name: `agent-${id}`,
    slug: `agent-${id}`,
    source: "github",
    source_config: { repo_url: "https://git.test/agent.git", deployment_type: "dev" },
    source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" },
    status: "READY",
    secrets_version: 0,
    created_at: now,
    updated_at: now,
    ...fields,
  };
  await database(env).insert(deployments).values(row);
  return row;
}

/** Ends the leases of all builds, because a workspace builds few revisions at once. */
export async function releaseBuilds(): Promise<void> {
  await database(env).update(revisions).set({ lease_expires_at: null });
}

export async function revisionRow(
  deployment: Pick<Deployment, "id" | "workspace_id">,
  fields: RevisionFields = {},
): Promise<Revision> {
  const now = new Date().toISOString();
  const row: Revision = {
    id: newId(),
    workspace_id: deployment.workspace_id,
    deployment_id: deployment.id,
    number: 1,
    source: "github",
    source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" },
    status: "AWAITING_BUILD",
    attempt: 0,
    sent_at: now,
    created_at: now,
    updated_at: now,
    ...fields,
  };
  await database(env).insert(revisions).values(row);
  return row;
}
