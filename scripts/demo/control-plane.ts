// Calls of the control plane, as a CI job makes them.
import type { StackInfo } from "../../local/stack.ts";
import { caller } from "./call.ts";
import { expect } from "./story.ts";

type Deployment = {
  id: string;
  name: string;
  latest_revision_id: string;
  active_revision_id: string | null;
};

type Revision = {
  id: string;
  status: string;
  status_message?: string | null;
  source_revision_config: { repo_ref?: string; repo_commit_sha?: string | null };
};

type LogPage = { logs: { level: string; message: string }[] };

const POLL_MS = 250;
const GIVE_UP_MS = 120_000;

export type ControlPlane = ReturnType<typeof connect>;

export function connect(info: StackInfo) {
  const { base_url, api_key, tenant_id } = info;
  const call = caller(info);
  return {
    create: (name: string, repo_url: string) =>
      call<Deployment>("POST", "/v2/deployments", 201, {
        name,
        source: "github",
        source_config: { repo_url, deployment_type: "dev", build_on_push: false },
        source_revision_config: { repo_ref: "main", agent_config_path: "langgraph.json" },
        secrets: [],
      }),
    get: (id: string) => call<Deployment>("GET", `/v2/deployments/${id}`, 200),
    getRevision: (id: string, revision_id: string) =>
      call<Revision>("GET", `/v2/deployments/${id}/revisions/${revision_id}`, 200),
    patch: (id: string, source_revision_config: { repo_ref: string }) =>
      call<Deployment>("PATCH", `/v2/deployments/${id}`, 200, { source_revision_config }),
    remove: (id: string) => call<null>("DELETE", `/v2/deployments/${id}`, 204),
    readBuildLog: (id: string, revision_id: string) =>
      call<LogPage>("POST", `/v1/projects/${id}/revisions/${revision_id}/build_logs`, 200, {
        order: "asc",
        limit: 100,
      }),
    /** Returns the status only. 404 means that the deployment is deleted. */
    status: async (id: string) => {
      const response = await fetch(`${base_url}/v2/deployments/${id}`, {
        headers: { "X-Api-Key": api_key, "X-Tenant-Id": tenant_id },
      });
      await response.body?.cancel();
      return response.status;
    },
  };
}

/** Polls a revision until it is DEPLOYED, as the quick start does. Returns it and the statuses that it had. */
export async function awaitDeployed(control: ControlPlane, id: string, revision_id: string) {
  const started = performance.now();
  const seen: { status: string; at_ms: number }[] = [];
  for (;;) {
    const revision = await control.getRevision(id, revision_id);
    const at_ms = performance.now() - started;
    if (seen.at(-1)?.status !== revision.status) seen.push({ status: revision.status, at_ms });
    if (revision.status === "DEPLOYED") return { revision, seen };
    const reason = revision.status_message ?? (await lastLines(control, id, revision_id));
    expect(
      !revision.status.includes("FAILED") && revision.status !== "SKIPPED",
      `The revision should be DEPLOYED and is ${revision.status}: ${reason}`,
    );
    expect(at_ms < GIVE_UP_MS, `The revision is still ${revision.status} after two minutes.`);
    await pause();
  }
}

export async function awaitGone(control: ControlPlane, id: string): Promise<void> {
  const deadline = Date.now() + GIVE_UP_MS;
  while ((await control.status(id)) !== 404) {
    expect(Date.now() < deadline, `Deployment ${id} still answers two minutes after its DELETE.`);
    await pause();
  }
}

async function lastLines(control: ControlPlane, id: string, revision_id: string) {
  const { logs } = await control.readBuildLog(id, revision_id);
  return logs
    .slice(-5)
    .map(({ message }) => message)
    .join("\n");
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, POLL_MS));
}
