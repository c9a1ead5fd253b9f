import { beforeAll, expect, test } from "vitest";
import type { DeploymentStats } from "../../../src/control-plane/deployments/api/stats-schema.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { deploymentRow } from "../../support/deployment.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";
import { batch, projectId, wireRun } from "../../traces/support/runs.ts";

const HOUR = 3_600_000;

let ours: TestWorkspace;
let theirs: TestWorkspace;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
});

/** A run of `seconds` that began some hours ago. */
function run(name: string, revision_id: string, hours: number, seconds: number, error?: string) {
  const at = Date.now() - hours * HOUR;
  const fields = { end_time: at + 1000 * seconds, extra: { metadata: { revision_id } } };
  return wireRun(name, { ...fields, ...(error && { error }) }, { at });
}

test("the figures of each revision are counted from its traces in the period", async () => {
  const name = `traced-${crypto.randomUUID()}`;
  const [stable, canary] = [newId(), newId()];
  const first = run(name, stable, 0.1, 1);
  const child = wireRun(name, { extra: { metadata: { revision_id: stable } } }, { parent: first });
  const runs = [
    ...[first, child, run(name, stable, 0.2, 3), run(name, stable, 5, 9, "broke")],
    ...[run(name, canary, 0.1, 2, "broke"), run(name, canary, 60, 2)],
    // The SDK for Python sends the description of git.
    run(name, "v1.2-3-gabc-dirty", 0.1, 1),
  ];
  expect((await batch(ours.editor, runs)).status).toBe(202);
  const tracing_project_id = await projectId(ours.viewer, name);
  const { id } = await deploymentRow(ours.workspace_id, { tracing_project_id });
  const stats = async (query = "") =>
    (
      await api(`/v2/deployments/${id}/stats${query}`, { key: ours.viewer })
    ).json<DeploymentStats>();

  const { revisions } = await stats();
  expect(revisions).toMatchObject([
    { revision_id: stable, run_count: 3, error_count: 1, latency_p50: expect.closeTo(3, 3) },
    { revision_id: canary, run_count: 1, error_count: 1, error_rate: 1 },
  ]);
  expect(revisions[0]?.error_rate).toBeCloseTo(1 / 3, 10);
  const counts = async (query: string) =>
    (await stats(query)).revisions.map(({ run_count }) => run_count);
  expect(await counts("?period=hour")).toEqual([2, 1]);
  expect((await counts("?period=week")).sort()).toEqual([2, 3]);
});

test("a deployment without runs has no figures, and another workspace sees none", async () => {
  const { id } = await deploymentRow(ours.workspace_id);
  const path = `/v2/deployments/${id}/stats`;
  const answer = await api(path, { key: ours.viewer });
  expect(await answer.json()).toMatchObject({ revisions: [] });
  expect((await api(path, { key: theirs.admin })).status).toBe(404);
  expect((await api(`${path}?period=year`, { key: ours.viewer })).status).toBe(422);
});
