import { env } from "cloudflare:workers";
import { expect, inject } from "vitest";
import type { Operation } from "../../scripts/fuzz/document.ts";
import { database } from "../../src/shared/context.ts";
import { newId } from "../../src/shared/storage/ids.ts";
import { provider, tokenOf } from "../control-plane/oauth/support.ts";
import { post, wireRun } from "../traces/support/runs.ts";
import { testDeployment } from "./agent-deployment.ts";
import { directoryRows } from "./directory.ts";
import { eventually } from "./eventually.ts";
import { createApiKey } from "./organizations.ts";
import { api, type TestWorkspace, workspace } from "./workspace.ts";

/** A workspace with one of everything, by the names that paths give to ids. */
export type Belongings = TestWorkspace & {
  ids: Record<string, string>;
  /** Text in every resource that can hold one, and nowhere else. */
  marker: string;
};

export async function belongings(): Promise<Belongings> {
  const owner = await workspace();
  const { workspace_id, admin } = owner;
  const marker = `marker-${crypto.randomUUID()}`;
  const metadata = { marker };
  const { deployment_id, revision_id } = await testDeployment(workspace_id);
  const session = await made(admin, "/api/v1/sessions", { name: marker });
  const run = wireRun(marker, { name: marker, inputs: metadata });
  await post(admin, "/api/v1/runs", run);
  const feedback = await made(admin, "/api/v1/feedback", {
    run_id: run.id,
    key: "good",
    score: 1,
    comment: marker,
  });
  const provider_id = await provider(admin);
  const { api_key_id } = await keyOf(workspace_id);
  const token_id = await tokenOf(owner, `key:${api_key_id}`, provider_id);
  const destination = await made(admin, "/api/v1/bulk-exports/destinations", {
    ...bucket(),
    display_name: marker,
  });
  const exported = await made(admin, "/api/v1/bulk-exports", {
    bulk_export_destination_id: destination.id,
    session_id: session.id,
    start_time: new Date().toISOString(),
    interval_hours: 168,
  });
  const thread = await made(admin, `/agents/${deployment_id}/threads`, { metadata });
  const agent_run = await made(admin, `/agents/${deployment_id}/threads/${thread.thread_id}/runs`, {
    assistant_id: "echo",
    after_seconds: 3600,
    input: metadata,
    metadata,
  });
  const assistant = await made(admin, `/agents/${deployment_id}/assistants`, {
    graph_id: "echo",
    name: marker,
    metadata,
  });
  const item = { namespace: [marker], key: "key", value: metadata };
  const base = `/agents/${deployment_id}`;
  await api(`${base}/store/items`, { key: admin, method: "PUT", json: item });
  const host = { name: marker, token: "secret", api_url: "http://127.0.0.1:9" };
  const integration = await made(admin, "/v1/integrations/github/install", host);
  const listener = await made(admin, "/v2/listeners", {
    compute_type: "k8s",
    compute_id: marker,
    compute_config: { k8s_namespaces: [] },
  });
  const cron = await made(
    admin,
    `/agents/${deployment_id}/threads/${thread.thread_id}/runs/crons`,
    {
      assistant_id: "echo",
      schedule: "0 0 29 2 *",
      input: metadata,
      metadata,
    },
  );
  const alert = await made(admin, "/v1/alerts", {
    ...{ name: marker, metric: "run_count", session_id: session.id, window_minutes: 5 },
    ...{ operator: "gte", threshold: 1, webhook: "https://hooks.test/alerts" },
  });
  const ids = {
    alert_id: alert.id ?? "",
    cron_id: cron.cron_id ?? "",
    integration_id: integration.id ?? "",
    listener_id: listener.id ?? "",
    workspace_id,
    deployment_id,
    revision_id,
    thread_id: thread.thread_id ?? "",
    agent_run_id: agent_run.run_id ?? "",
    run_id: run.id,
    trace_id: run.id,
    ...idsOfProject(session),
    share_token: newId(),
    feedback_id: feedback.id ?? "",
    provider_id,
    token_id,
    destination_id: destination.id ?? "",
    bulk_export_id: exported.id ?? "",
    agent_id: "agent",
    agent: "echo",
    file: "entrypoint.js",
    connection_id: newId(),
    organization_id: owner.organization_id,
    assistant_id: assistant.assistant_id ?? "",
    namespace: "inner",
    resource_id: deployment_id,
    auth_id: newId(),
    upload_id: newId(),
    token: newId(),
    ...(await principals(owner)),
    checkpoint_id: newId(),
    name: "file",
  };
  await eventually(() => allPublished(workspace_id), { interval: 100 });
  return { ...owner, ids, marker };
}

/** A project is a session on the wire, and in version 2 a project. */
function idsOfProject({ id = "" }: Record<string, string>) {
  return { session_id: id, project_id: id };
}

/** A service key, a member and a personal key of the member. */
async function principals({ admin, organization_id }: TestWorkspace) {
  const { id: api_key_id = "" } = await made(admin, "/api/v1/api-key", { role: "editor" });
  const { id: user_id = "" } = await made(admin, "/api/v1/workspaces/current/members", {
    email: `${newId()}@acme.test`,
    role: "editor",
  });
  const personal = { kind: "personal", organization_id, user_id } as const;
  const { id: pat_id } = await createApiKey(database(env), personal);
  // A member who has not signed in yet is an invitation.
  return { api_key_id, identity_id: user_id, invitation_id: user_id, pat_id };
}

/** Objects publish by alarm. Afterwards nothing changes by itself. */
async function allPublished(workspace_id: string): Promise<void> {
  const { threads, partitions } = await rowsOf(workspace_id);
  expect(threads).toEqual([expect.objectContaining({ status: "busy" })]);
  expect(partitions).toEqual([expect.objectContaining({ rows: 1 })]);
}

/** The operation's URL with these ids in it, and what its query must have. */
export function urlOf({ path, parameters }: Operation, ids: Record<string, string>): string {
  const isAgent = path.startsWith("/agents/");
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const id = isAgent && name === "run_id" ? ids.agent_run_id : ids[name];
    if (id === undefined) throw new Error(`test/support/belongings.ts makes no ${name} of ${path}`);
    return encodeURIComponent(id);
  });
  const query = new URLSearchParams();
  for (const { name, in: place, required } of parameters) {
    if (place !== "query" || !required) continue;
    query.set(name, ids[name] ?? ids[name.replace(/s$/, "")] ?? ids.bulk_export_id ?? "");
  }
  return query.size === 0 ? filled : `${filled}?${query}`;
}

export function bucket() {
  const { bucket: bucket_name, endpoint, region, access_key_id, secret_access_key } = inject("s3");
  return {
    destination_type: "s3",
    display_name: "bucket",
    config: { bucket_name, endpoint_url: endpoint, region, prefix: "security" },
    credentials: { access_key_id, secret_access_key },
  };
}

async function made(key: string, path: string, json: unknown): Promise<Record<string, string>> {
  const response = await post(key, path, json);
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text) as Record<string, string>;
}

async function keyOf(workspace_id: string): Promise<{ api_key_id: string }> {
  const key = await env.DB.prepare(
    "SELECT id AS api_key_id FROM api_keys WHERE workspace_id = ? AND role = 'admin'",
  )
    .bind(workspace_id)
    .first<{ api_key_id: string }>();
  if (key === null) throw new Error("the workspace has no key");
  return key;
}

/**
 * All rows of a workspace in D1 and the directories of its threads, to be compared. Its audit log and the last use of its keys change with each call,
 * and the sums of a partition a minute after its last trace.
 */
export async function rowsOf(workspace_id: string): Promise<Record<string, unknown>> {
  const { results } = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%`workspace_id`%' AND name <> 'audit_logs' ORDER BY name",
  ).all<{ name: string }>();
  const found = await env.DB.batch<Record<string, unknown>>(
    results.map(({ name }) =>
      env.DB.prepare(`SELECT * FROM "${name}" WHERE workspace_id = ? ORDER BY rowid`).bind(
        workspace_id,
      ),
    ),
  );
  const rows = found.map(({ results }) => results.map(withoutDerived));
  const tables: Record<string, Record<string, unknown>[]> = Object.fromEntries(
    rows.map((table, n) => [results[n]?.name, table]),
  );
  const threads = await Promise.all(
    (tables.deployments ?? []).map(({ id }) => directoryRows(String(id))),
  );
  const people = await env.DB.prepare(
    "SELECT users.* FROM users JOIN workspaces USING (organization_id) WHERE workspaces.id = ?",
  )
    .bind(workspace_id)
    .all();
  return { ...tables, threads: threads.flat(), people: people.results };
}

function withoutDerived(row: Record<string, unknown>): Record<string, unknown> {
  const { last_used_at: _, stats, stats_seq, updated_at, ...rest } = row;
  return stats === undefined ? { ...rest, updated_at } : rest;
}
