import { a2aRoutes } from "./agent-server/a2a/routes.ts";
import { cronRoutes } from "./agent-server/crons/routes.ts";
import { mcpRoutes } from "./agent-server/mcp/routes.ts";
import { storeRoutes } from "./agent-server/store/routes.ts";
import { protocolRoutes } from "./agent-server/streaming/routes.ts";
import { assistantRoutes } from "./agent-server/threads/api/assistants/assistant-routes.ts";
import { graphRoutes } from "./agent-server/threads/api/assistants/graph-routes.ts";
import { inboxRoutes } from "./agent-server/threads/api/inbox/inbox-routes.ts";
import { metaRoutes } from "./agent-server/threads/api/operations/meta-routes.ts";
import { truncateRoutes } from "./agent-server/threads/api/operations/truncate-routes.ts";
import { runRoutes } from "./agent-server/threads/api/runs/run-routes.ts";
import { runDeliveryRoutes } from "./agent-server/threads/api/runs/run-webhook-routes.ts";
import { threadlessRoutes } from "./agent-server/threads/api/runs/threadless-routes.ts";
import { stateRoutes } from "./agent-server/threads/api/state/state-routes.ts";
import { threadRoutes } from "./agent-server/threads/api/threads/routes.ts";
import { uiRoutes } from "./agent-server/ui/routes.ts";
import { runWebhookRoutes } from "./agent-server/webhooks/routes.ts";
import { alertRoutes } from "./control-plane/alerts/alert-routes.ts";
import { listenerRoutes } from "./control-plane/deployments/api/listener-routes.ts";
import { revisionRoutes } from "./control-plane/deployments/api/revision-routes.ts";
import { deploymentRoutes } from "./control-plane/deployments/api/routes.ts";
import { integrationRoutes } from "./control-plane/deployments/git/integration-routes.ts";
import { webhookRoutes } from "./control-plane/deployments/git/webhook-routes.ts";
import { logRoutes } from "./control-plane/deployments/logs/log-routes.ts";
import { uploadRoutes } from "./control-plane/deployments/uploads/upload-routes.ts";
import { lookupRoutes } from "./control-plane/lookup/lookup-routes.ts";
import { authorizationRoutes } from "./control-plane/oauth/authorizations/authorization-routes.ts";
import { providerRoutes } from "./control-plane/oauth/providers/provider-routes.ts";
import { connectionRoutes } from "./control-plane/oauth/tokens/connection-routes.ts";
import { tokenRoutes } from "./control-plane/oauth/tokens/token-routes.ts";
import { usageRoutes } from "./control-plane/usage/usage-routes.ts";
import { workspaceRoutes } from "./control-plane/workspaces/audit/routes.ts";
import { keyRoutes } from "./control-plane/workspaces/keys/key-routes.ts";
import { memberRoutes } from "./control-plane/workspaces/members/member-routes.ts";
import { exportRoutes } from "./exports/bulk-exports/routes.ts";
import { destinationRoutes } from "./exports/destinations/routes.ts";
import { previewRoutes } from "./exports/preview/preview-routes.ts";
import { attachmentRoutes, attachmentUrlRoutes } from "./traces/attachments/attachment-routes.ts";
import { traceDeletionRoutes } from "./traces/deletion/trace-deletion-routes.ts";
import { feedbackRoutes } from "./traces/feedback/feedback-routes.ts";
import { feedbackTokenRoutes } from "./traces/feedback/feedback-token-routes.ts";
import { feedbackUrlRoutes } from "./traces/feedback/feedback-url-routes.ts";
import { ingestRoutes } from "./traces/ingest/ingest-routes.ts";
import { liveRoutes } from "./traces/live/live-routes.ts";
import { otlpRoutes } from "./traces/otlp/otlp-routes.ts";
import { projectRoutes } from "./traces/projects/routes.ts";
import { ttlSettingsRoutes } from "./traces/projects/ttl-settings-routes.ts";
import { filterRoutes } from "./traces/query/filter-routes.ts";
import { queryRoutes } from "./traces/query/query-routes.ts";
import { traceRunRoutes } from "./traces/query/run-routes.ts";
import { sharedPageRoutes } from "./traces/shares/page-routes.ts";
import { shareRoutes } from "./traces/shares/share-routes.ts";
import { sharedRunRoutes } from "./traces/shares/shared-run-routes.ts";
import { statsRoutes } from "./traces/stats/stats-routes.ts";
import { threadTraceRoutes } from "./traces/threads/thread-routes.ts";
import { tracesRoutes } from "./traces/traces/traces-routes.ts";

/** Routers before the authentication: a token in the URL is the credential. */
export const PUBLIC_TRACE_ROUTERS = [
  feedbackUrlRoutes,
  attachmentUrlRoutes,
  sharedRunRoutes,
  sharedPageRoutes,
];

/** Routers after the authentication, which covers `GUARDED` and /agents. The first router that has a path answers. */
export const ROUTERS = [
  workspaceRoutes,
  usageRoutes,
  lookupRoutes,
  alertRoutes,
  keyRoutes,
  memberRoutes,
  deploymentRoutes,
  revisionRoutes,
  logRoutes,
  integrationRoutes,
  uploadRoutes,
  listenerRoutes,
  webhookRoutes,
  providerRoutes,
  authorizationRoutes,
  tokenRoutes,
  connectionRoutes,
  assistantRoutes,
  graphRoutes,
  threadRoutes,
  protocolRoutes,
  inboxRoutes,
  metaRoutes,
  stateRoutes,
  runRoutes,
  truncateRoutes,
  threadlessRoutes,
  storeRoutes,
  runWebhookRoutes,
  runDeliveryRoutes,
  cronRoutes,
  uiRoutes,
  mcpRoutes,
  a2aRoutes,
  projectRoutes,
  ttlSettingsRoutes,
  ingestRoutes,
  otlpRoutes,
  traceRunRoutes,
  queryRoutes,
  liveRoutes,
  statsRoutes,
  traceDeletionRoutes,
  attachmentRoutes,
  shareRoutes,
  threadTraceRoutes,
  tracesRoutes,
  feedbackTokenRoutes,
  feedbackRoutes,
  filterRoutes,
  destinationRoutes,
  exportRoutes,
  previewRoutes,
];
