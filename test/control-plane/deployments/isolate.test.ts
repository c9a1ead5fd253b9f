import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { activeRevision } from "../../../src/control-plane/deployments/api/service.ts";
import { agentIsolate } from "../../../src/control-plane/deployments/isolate/isolate.ts";
import { readRevisionCode } from "../../../src/control-plane/deployments/isolate/revision-code.ts";
import { secretOwner } from "../../../src/control-plane/deployments/secrets.ts";
import { secrets } from "../../../src/control-plane/deployments/table.ts";
import { TCP_BINDING } from "../../../src/isolate/environment-contract.ts";
import { database } from "../../../src/shared/context.ts";
import { encrypt } from "../../../src/shared/crypto/crypto.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import {
  DESCRIPTORS,
  deploymentRow,
  putArtifact,
  revisionRow,
  systemContext,
} from "../../support/deployment.ts";
import { failD1 } from "../../support/outage.ts";
import { api, workspace } from "../../support/workspace.ts";

type TestAgent = {
  describe(): Promise<unknown>;
  environment(): Promise<Record<string, string>>;
};

async function deployed(workspace_id: string) {
  const revision_id = newId();
  const deployment = await deploymentRow(workspace_id, {
    latest_revision_id: revision_id,
    active_revision_id: revision_id,
  });
  await revisionRow(deployment, {
    id: revision_id,
    status: "DEPLOYED",
    artifact_key: await putArtifact(),
    config_env: { MODEL: "small", MODE: "of the repository" },
    graphs: ["agent"],
    descriptors: DESCRIPTORS,
  });
  return { deployment, ref: { deployment_id: deployment.id, revision_id } };
}

/** The way out for sockets, which the harness keeps from the agent's variables. */
const TCP = { [TCP_BINDING]: expect.anything() };

function agent(ref: { deployment_id: string; revision_id: string }): TestAgent {
  // The loader types every entrypoint as a Fetcher; AGENT_MODULE exports this one.
  return agentIsolate(env, { ...ref, secrets_version: 1 }) as unknown as TestAgent;
}

test("an isolate is loaded from its artifact and sees secrets over the configured environment", async () => {
  const { deployment, ref } = await deployed(newId());
  const owner = secretOwner(deployment.id, "MODE");
  await database(env)
    .insert(secrets)
    .values({
      deployment_id: deployment.id,
      name: "MODE",
      workspace_id: deployment.workspace_id,
      updated_at: new Date().toISOString(),
      ...(await encrypt(env, "of the secret", owner)),
    });
  expect(await agent(ref).describe()).toEqual({ ok: true, value: DESCRIPTORS });
  expect(await agent(ref).environment()).toEqual({ ...TCP, MODEL: "small", MODE: "of the secret" });
});

test("missing code is named in the error", async () => {
  const workspace_id = newId();
  const unbuilt = await revisionRow(await deploymentRow(workspace_id));
  const gone = await revisionRow(await deploymentRow(workspace_id), { artifact_key: "no/such" });
  const read = ({ id, deployment_id }: { id: string; deployment_id: string }) =>
    readRevisionCode(env, { deployment_id, revision_id: id, secrets_version: 0 });
  await expect(read(unbuilt)).rejects.toThrow("has no artifact: it is AWAITING_BUILD");
  await expect(read(gone)).rejects.toThrow(`The artifact of revision ${gone.id} is gone: no/such`);
  await expect(read({ id: newId(), deployment_id: unbuilt.deployment_id })).rejects.toThrow(
    "is gone",
  );
  await expect(read({ id: unbuilt.id, deployment_id: newId() })).rejects.toThrow("is gone");
});

test("the active revision is found by id and by slug, in its workspace alone", async () => {
  const workspace_id = newId();
  const { deployment, ref } = await deployed(workspace_id);
  const expected = {
    ...ref,
    workspace_id,
    secrets_version: 0,
    name: deployment.name,
    graphs: ["agent"],
    descriptors: DESCRIPTORS,
    config: null,
    config_env: { MODE: "of the repository", MODEL: "small" },
  };
  const ctx = systemContext(workspace_id);
  expect(await activeRevision(ctx, deployment.id)).toEqual(expected);
  expect(await activeRevision(ctx, deployment.slug)).toEqual(expected);
  await expect(activeRevision(systemContext(newId()), deployment.id)).rejects.toMatchObject({
    code: "not_found",
    message: `Deployment ID ${deployment.id} not found.`,
  });
});

test("a deployment that does not serve yet is unavailable and names its latest revision", async () => {
  const workspace_id = newId();
  const revision_id = newId();
  const deployment = await deploymentRow(workspace_id, { latest_revision_id: revision_id });
  await revisionRow(deployment, {
    id: revision_id,
    status: "BUILD_FAILED",
    status_reason: "ref_not_found",
    status_message: "main is not there.",
  });
  await expect(activeRevision(systemContext(workspace_id), deployment.id)).rejects.toMatchObject({
    code: "unavailable",
    retry_after_seconds: 2,
    message: `Deployment ${deployment.name} has no deployed revision: its latest revision ${revision_id} is BUILD_FAILED (ref_not_found). main is not there.`,
  });
});

test("new secrets reach the next run: another set is another isolate", async () => {
  const ours = await workspace();
  const { deployment, ref } = await deployed(ours.workspace_id);
  const ctx = systemContext(ours.workspace_id);
  const environment = async () => {
    const { secrets_version } = await activeRevision(ctx, deployment.id);
    // The loader types every entrypoint as a Fetcher; AGENT_MODULE exports this one.
    const stub = agentIsolate(env, { ...ref, secrets_version }) as unknown as TestAgent;
    return stub.environment();
  };
  const replace = async (...names: string[]) => {
    const json = { secrets: names.map((name) => ({ name, value: `the ${name}` })) };
    const path = `/v2/deployments/${deployment.id}`;
    const response = await api(path, { key: ours.editor, method: "PATCH", json });
    expect(response.status).toBe(200);
  };
  await replace("A", "MODE");
  expect(await environment()).toEqual({
    ...TCP,
    MODEL: "small",
    MODE: "the MODE",
    A: "the A",
  });
  await replace("B");
  expect(await environment()).toEqual({
    ...TCP,
    MODEL: "small",
    MODE: "of the repository",
    B: "the B",
  });
});

test("code is loaded from its record without D1, with the secrets of its version alone", async () => {
  const ours = await workspace();
  const { deployment, ref } = await deployed(ours.workspace_id);
  const path = `/v2/deployments/${deployment.id}`;
  const replace = async (value: string) => {
    const json = { secrets: [{ name: "TOKEN", value }] };
    expect((await api(path, { key: ours.editor, method: "PATCH", json })).status).toBe(200);
  };
  const records = async () => {
    const { objects } = await env.ARTIFACTS.list({ prefix: `code/${deployment.id}/` });
    return Promise.all(objects.map(async ({ key }) => (await env.ARTIFACTS.get(key))?.text()));
  };
  await replace("the first token");
  await readRevisionCode(env, { ...ref, secrets_version: 1 });
  expect(await records()).toEqual([expect.not.stringContaining("the first token")]);
  await replace("the second token");
  expect(await records()).toEqual([]);
  const second = { ...ref, secrets_version: 2 };
  const code = await readRevisionCode(env, second);
  const endOutage = failD1();
  expect(await readRevisionCode(env, second)).toEqual(code);
  expect(code.env).toMatchObject({ TOKEN: "the second token", MODEL: "small" });
  const other = { ...deployment, revision_id: ref.revision_id, deployment_id: newId() };
  await expect(readRevisionCode(env, { ...other, secrets_version: 2 })).rejects.toThrow();
  await expect(readRevisionCode(env, { ...ref, secrets_version: 3 })).rejects.toThrow();
  endOutage();
});

test("a record that R2 does not store keeps no isolate from its code", async () => {
  const { ref } = await deployed(newId());
  const put = vi.spyOn(Object.getPrototypeOf(env.ARTIFACTS), "put");
  put.mockRejectedValue(new Error("R2 is down"));
  const code = await readRevisionCode(env, { ...ref, secrets_version: 0 });
  put.mockRestore();
  expect(code.env).toMatchObject({ MODEL: "small" });
});

const WASM = "AGFzbQEAAAABBwFgAn9/AX8DAgEABwcBA2FkZAAACgkBBwAgACABags=";
const READER = `
import { readFileSync } from "node:fs";
import { WorkerEntrypoint } from "cloudflare:workers";
import add from "./lib/add.wasm";
export class Agent extends WorkerEntrypoint {
  describe() {
    return [
      readFileSync("prompts/a.txt", "utf8"),
      readFileSync(new URL("file:///bundle/prompts/a.txt"), "utf8"),
      [...readFileSync("b.bin")],
      new WebAssembly.Instance(add).exports.add(2, 3),
    ];
  }
}`;

test("texts, bytes and WebAssembly of an artifact are files and modules of its isolate", async () => {
  const { workspace_id } = await workspace();
  const artifact_key = await putArtifact(READER, {
    "prompts/a.txt": { text: "héllo" },
    "b.bin": { data: "AP8=" },
    "lib/add.wasm": { wasm: WASM },
  });
  const deployment = await deploymentRow(workspace_id);
  const revision = await revisionRow(deployment, { status: "DEPLOYED", artifact_key });
  const ref = { deployment_id: deployment.id, revision_id: revision.id, secrets_version: 0 };
  const agent = agentIsolate(env, ref) as unknown as TestAgent;
  expect(await agent.describe()).toEqual(["héllo", "héllo", [0, 255], 5]);
});
