import type { Operation } from "../../scripts/fuzz/document.ts";
import { bucket } from "./belongings.ts";
import { sampleBodyOf } from "./operations.ts";

/** Bodies that name existing resources; of other operations the smallest body that the document allows. */
export function operationBody(operation: Operation, ids: Record<string, string>): unknown {
  const { session_id, destination_id, run_id, provider_id, token_id } = ids;
  const { thread_id, agent_run_id } = ids;
  const message = { role: "user", messageId: "1", parts: [{ kind: "data", data: {} }] };
  const bodies: Record<string, unknown> = {
    createDeployment: {
      name: "new-agent",
      source: "github",
      source_config: { repo_url: "https://git.test/agent.git", deployment_type: "dev" },
      source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" },
      secrets: [],
    },
    createBulkExport: {
      bulk_export_destination_id: destination_id,
      session_id,
      start_time: "2026-01-01T00:00:00Z",
      end_time: "2026-01-02T00:00:00Z",
    },
    createAlert: {
      ...{ name: "stolen", metric: "run_count", session_id, window_minutes: 5 },
      ...{ operator: "gte", threshold: 1, webhook: "https://hooks.test/alerts" },
    },
    addMember: { email: "eve@acme.test", role: "admin" },
    addMembers: [{ email: "eve@acme.test", role: "admin" }],
    updateMember: { role: "admin" },
    updateOrganizationMember: { role: "admin" },
    cancelBulkExport: { status: "CANCELLED" },
    createBulkExportDestination: bucket(),
    probeBulkExportDestination: bucket(),
    getBulkExportEstimate: { session_id, start_time: "2026-01-01T00:00:00Z" },
    updateBulkExportDestination: { credentials: bucket().credentials },
    createTraceRun: { id: run_id, name: "stolen", run_type: "chain", session_id },
    ingestRunsBatch: { post: [], patch: [{ id: run_id, name: "stolen", session_id }] },
    deleteTraces: { session_id, trace_ids: [run_id] },
    queryTraceRuns: { session: [session_id] },
    listTraceRunChanges: { project_id: session_id },
    queryTraceRunsV2: { project_ids: [session_id] },
    getTraceRunStats: { session: [session_id] },
    groupTraceRuns: { session_id, group_by: "conversation" },
    queryTraceThreads: { project_id: session_id },
    queryTraces: { project_id: session_id },
    getTraceThreadsStats: { project_id: session_id, select: ["THREAD_COUNT"] },
    createFeedbackToken: { run_id, feedback_key: "stolen" },
    createFeedback: { run_id, key: "stolen", score: 0 },
    createOAuthProvider: {
      provider_id: "new",
      name: "New",
      client_id: "client",
      auth_url: "https://provider.test/auth",
      token_url: "https://provider.test/token",
    },
    discoverOAuthProvider: { provider_id: "mcp", name: "MCP", mcp_server_url: "https://mcp.test/" },
    authenticateOAuth: { provider: provider_id, scopes: ["repo"] },
    createAgentConnection: { oauth_token_id: token_id },
    createRunBatch: [{ assistant_id: "echo", after_seconds: 3600 }],
    cancelRuns: { thread_id, run_ids: [agent_run_id] },
    sendThreadCommand: { id: 1, method: "run.start", params: { assistant_id: "echo" } },
    streamThreadEvents: { channels: ["values"] },
    createIntegration: { name: "host", token: "secret" },
    callA2a: { jsonrpc: "2.0", id: 1, method: "message/send", params: { message: message } },
    callMcp: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo" } },
  };
  return bodies[operation.id] ?? sampleBodyOf(operation);
}
