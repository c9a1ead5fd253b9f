import { randomUUID } from "node:crypto";
import { request } from "./http.ts";
import { type Files, pushRepository } from "./repositories.ts";
import { stack, until } from "./stack.ts";

export type Deployment = {
  id: string;
  name: string;
  tenant_id: string;
  status: string;
  latest_revision_id: string;
  active_revision_id: string | null;
  source_config: Record<string, unknown>;
  source_revision_config: Record<string, unknown>;
  secrets: { name: string; value?: string }[];
};

export type Revision = {
  id: string;
  status: string;
  status_reason: string | null;
  status_message: string | null;
};

type DeployOptions = {
  secrets?: { name: string; value: string }[];
  repo_ref?: string;
  config_path?: string;
  /** Another caller than the stack's own. */
  headers?: Record<string, string>;
};

export function createBody(name: string, repo_url: string, options: DeployOptions = {}) {
  return {
    name,
    source: "github",
    source_config: { repo_url, deployment_type: "dev", build_on_push: false },
    source_revision_config: {
      repo_ref: options.repo_ref ?? "main",
      langgraph_config_path: options.config_path ?? "langgraph.json",
    },
    secrets: options.secrets ?? [],
  };
}

/** A name that no other test of this run has taken. */
export function uniqueName(name: string): string {
  return `${name}-${randomUUID().slice(0, 8)}`;
}

/** URL of a repository that the stack itself publishes from examples/. */
export function exampleUrl(name: string): string {
  return `${stack.git.url}/examples/${name}.git`;
}

/** Deploys a repository and waits for its first revision to end, whichever way it does. */
export async function build(name: string, repo_url: string, options: DeployOptions = {}) {
  const created = await request<Deployment>(
    "POST",
    "/v2/deployments",
    createBody(uniqueName(name), repo_url, options),
    options.headers,
  );
  if (created.status !== 201) {
    throw new Error(`POST /v2/deployments: ${created.status} ${JSON.stringify(created.body)}`);
  }
  const { id, latest_revision_id } = created.body;
  const revision = await awaitRevision(id, latest_revision_id, options.headers);
  return { id, revision, agent_url: `${stack.base_url}/agents/${id}` };
}

/** Pushes the files, deploys them and waits until they serve. */
export async function deploy(name: string, files: Files, options: DeployOptions = {}) {
  const deployed = await build(name, await pushRepository(uniqueName(name), files), options);
  if (deployed.revision.status !== "DEPLOYED") {
    throw new Error(`${name} ended ${JSON.stringify(deployed.revision)}`);
  }
  return deployed;
}

export async function awaitRevision(
  id: string,
  revision_id: string,
  headers: Record<string, string> = {},
): Promise<Revision> {
  const { body } = await until(
    "The end of the build",
    () =>
      request<Revision>(
        "GET",
        `/v2/deployments/${id}/revisions/${revision_id}`,
        undefined,
        headers,
      ),
    ({ body }) => /DEPLOYED|FAILED|SKIPPED/.test(body.status),
  );
  return body;
}
