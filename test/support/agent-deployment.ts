import { env } from "cloudflare:workers";
import { type Artifact, CONTRACT } from "../../src/control-plane/builds/contract.ts";
import { deployments, revisions } from "../../src/control-plane/deployments/table.ts";
import { database } from "../../src/shared/context.ts";
import { newId } from "../../src/shared/storage/ids.ts";
import { TEST_GRAPHS, TEST_STORE } from "./test-graphs.ts";

type TestCode = {
  module?: string;
  /** In place of one of the module alone. */
  artifact?: Artifact;
  graphs?: string[];
  config_env?: Record<string, string>;
};

/** A deployment of the test graphs as a finished build leaves it: rows, and an artifact in R2. */
export async function testDeployment(
  workspace_id: string,
  config: Record<string, unknown> = { store: TEST_STORE },
  { module = env.TEST_AGENT, artifact, graphs = TEST_GRAPHS, config_env = {} }: TestCode = {},
) {
  const [deployment_id, revision_id] = [newId(), newId()];
  const now = new Date().toISOString();
  const code: Artifact = artifact ?? {
    contract: CONTRACT,
    compatibility_date: "2026-11-01",
    main_module: "main.js",
    modules: { "main.js": module },
  };
  const artifact_key = `artifacts/${revision_id}.json`;
  await env.ARTIFACTS.put(artifact_key, JSON.stringify(code));
  const db = database(env);
  const name = `test-${deployment_id}`;
  const shared = { workspace_id, source: "github", created_at: now, updated_at: now } as const;
  await db.batch([
    db.insert(deployments).values({
      ...shared,
      id: deployment_id,
      name,
      slug: name,
      source_config: {},
      source_revision_config: {},
      status: "READY",
      latest_revision_id: revision_id,
      active_revision_id: revision_id,
      secrets_version: 1,
    }),
    db.insert(revisions).values({
      ...shared,
      id: revision_id,
      deployment_id,
      number: 1,
      source_revision_config: {},
      status: "DEPLOYED",
      artifact_key,
      config,
      config_env,
      graphs,
      attempt: 1,
      sent_at: now,
    }),
  ]);
  return { deployment_id, revision_id, secrets_version: 1 };
}
