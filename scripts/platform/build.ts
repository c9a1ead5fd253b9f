import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { assert, type Check, type Target } from "./target.ts";

export type Files = Record<string, string>;
type Deployment = { id: string; latest_revision_id: string; tracing_project_id: string };

const GRAPHS = [
  ...["echo", "steps", "waits", "fetches", "reads", "large", "identity"],
  ...["surroundings", "prints", "calls", "connects", "spins", "hoards"],
];

export const BUILD_CHECK: Check = {
  name: "build",
  limit: "builder: loader isolate, R2, queue",
  run: checkBuild,
};

/** Deploys an uploaded folder: no git host is needed. */
async function checkBuild(target: Target): Promise<string> {
  const started = Date.now();
  const { id, tracing_project_id } = await deploy(target, "agent", await probeFiles());
  target.agent = { id, project_id: tracing_project_id };
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  return `deployed an uploaded agent in ${seconds} s`;
}

/** Files of the agent whose graphs probe the platform. */
export async function probeFiles(): Promise<Files> {
  const graphs = Object.fromEntries(GRAPHS.map((name) => [name, `./graphs.ts:${name}`]));
  return {
    "langgraph.json": JSON.stringify({ graphs }),
    "graphs.ts": await readSource("graphs.ts"),
  };
}

export function readSource(name: string): Promise<string> {
  return readFile(new URL(`agent/${name}`, import.meta.url), "utf8");
}

/** Creates a deployment, which is deleted when the checks end, and waits until it serves. */
export async function deploy(target: Target, name: string, files: Files): Promise<Deployment> {
  const deployment = await createDeployment(target, name);
  await deployFiles(target, deployment.id, files);
  return deployment;
}

export async function createDeployment(target: Target, name: string): Promise<Deployment> {
  const deployment = await target.json<Deployment>("POST", "/v2/deployments", {
    name: `platform-check-${name}-${Date.now()}`,
    source: "internal_source",
    source_config: { deployment_type: "dev" },
    source_revision_config: { langgraph_config_path: "langgraph.json" },
  });
  const path = `/v2/deployments/${deployment.id}?delete_tracing_project=true`;
  target.cleanups.push(() => target.json("DELETE", path));
  return deployment;
}

/** Deploys a further revision of the files. */
export async function deployFiles(target: Target, id: string, files: Files): Promise<string> {
  const entries = Object.entries(files).map(([name, body]) => ({
    header: { name, size: Buffer.byteLength(body) },
    body,
  }));
  const { upload_url, object_path } = await createUpload(target, id);
  const response = await upload(upload_url, new Uint8Array(gzipSync(await packTar(entries))));
  assert(response.ok, `the upload answered ${response.status}: ${await response.text()}`);
  return change(target, id, { source_revision_config: { source_tarball_path: object_path } });
}

export function createUpload(target: Target, id: string) {
  const path = `/v2/deployments/${id}/upload-url`;
  return target.json<{ upload_url: string; object_path: string }>("POST", path);
}

export function upload(url: string, body: Uint8Array<ArrayBuffer>): Promise<Response> {
  return fetch(url, { method: "PUT", body });
}

/** Changes a deployment and waits for the revision of the change. */
export async function change(target: Target, id: string, patch: unknown): Promise<string> {
  const path = `/v2/deployments/${id}`;
  const { latest_revision_id } = await target.json<Deployment>("PATCH", path, patch);
  await awaitDeployed(target, id, latest_revision_id);
  return latest_revision_id;
}

export async function awaitDeployed(target: Target, id: string, revision_id: string) {
  const path = `/v2/deployments/${id}/revisions/${revision_id}`;
  const revision = await target.poll("end of the build", async () => {
    const { status, status_message } = await target.json<Record<string, string>>("GET", path);
    return status === "DEPLOYED" || status?.endsWith("FAILED") ? { status, status_message } : null;
  });
  assert(revision.status === "DEPLOYED", `${revision.status}: ${revision.status_message}`);
}
