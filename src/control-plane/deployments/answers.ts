import { baseUrl } from "../../shared/http/base-url.ts";
import { Revision } from "./revision-schema.ts";
import { stepsOf } from "./revisions.ts";
import type { ShownRevisionRow, selectDeployments } from "./rows.ts";
import { Deployment } from "./schema.ts";
import type { StoredRevisionConfig, StoredSourceConfig } from "./stored.ts";

/** Converts rows to API resources. Pure. */

type DeploymentView = Awaited<ReturnType<typeof selectDeployments>>[number];

export function toDeployment(
  row: DeploymentView,
  env: { BASE_URL: string },
  origin: string,
): Deployment {
  const url = agentUrl(env, origin, row.id);
  return Deployment.parse({
    ...row,
    tenant_id: row.workspace_id,
    source_config: toSourceConfig(row.source_config, url),
    source_revision_config: toRevisionConfig(
      row.source_revision_config,
      row.latest_revision?.repo_commit_sha ?? null,
    ),
    secret_references: null,
    image_version: null,
    traffic: row.traffic ?? [],
    url,
  });
}

export function toRevision(
  row: ShownRevisionRow,
  env: { BASE_URL: string },
  origin: string,
): Revision {
  return Revision.parse({
    ...row,
    url: revisionUrl(env, origin, { deployment_id: row.deployment_id, revision_id: row.id }),
    source_revision_config: toRevisionConfig(row.source_revision_config, row.repo_commit_sha),
    steps: stepsOf(row),
    error_log_id: row.error_log_id === null ? null : String(row.error_log_id),
  });
}

export function revisionUrl(
  env: { BASE_URL: string },
  origin: string,
  { deployment_id, revision_id }: { deployment_id: string; revision_id: string },
): string {
  return `${agentUrl(env, origin, deployment_id)}/revisions/${revision_id}`;
}

export function agentUrl(env: { BASE_URL: string }, origin: string, deployment_id: string): string {
  return `${baseUrl(env, origin)}/agents/${deployment_id}`;
}

/** Returns a warning about a setting that has no effect, `null` without one. */
export function warningOf({ source_config }: Deployment): string | null {
  if (!source_config.build_on_push || source_config.integration_id !== null) return null;
  return "build_on_push has no effect without an integration: create one, set its id as integration_id, and add its webhook at the repository host.";
}

function toSourceConfig(config: StoredSourceConfig, url: string) {
  return {
    integration_id: config.integration_id ?? null,
    repo_url: config.repo_url ?? null,
    deployment_type: config.deployment_type ?? null,
    build_on_push: config.build_on_push ?? false,
    custom_url: url,
    resource_spec: config.resource_spec ?? null,
    install_command: config.install_command ?? null,
    build_command: config.build_command ?? null,
  };
}

function toRevisionConfig(config: StoredRevisionConfig, repo_commit_sha: string | null) {
  const path = config.langgraph_config_path ?? null;
  return {
    repo_ref: config.repo_ref ?? null,
    agent_config_path: path,
    langgraph_config_path: path,
    image_uri: null,
    source_tarball_path: config.source_tarball_path ?? null,
    repo_commit_sha,
  };
}
