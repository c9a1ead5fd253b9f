import { beforeAll, expect, test } from "vitest";
import { testDeployment } from "./support/agent-deployment.ts";
import { api, type TestWorkspace, workspace } from "./support/workspace.ts";

type Operation = { operationId: string; parameters?: { in: string }[] };
type Document = { paths: Record<string, { get?: Operation }> };

/** Lists and other reads that a filter narrows, as the API's document names them. */
const NARROWED = /^list|^getUsage$|^streamAgentLogs$/;
const PARAMETER = "no_such_filter";

let ours: TestWorkspace;
let deployment_id: string;
beforeAll(async () => {
  ours = await workspace();
  ({ deployment_id } = await testDeployment(ours.workspace_id));
});

async function narrowedReads(): Promise<{ operationId: string; path: string }[]> {
  const { paths } = await (await api("/openapi.json")).json<Document>();
  return Object.entries(paths).flatMap(([path, { get }]) => {
    const hasQuery = get?.parameters?.some((each) => each.in === "query");
    if (!get || !hasQuery || !NARROWED.test(get.operationId)) return [];
    const filled = path
      .replace("{deployment_id}", deployment_id)
      .replaceAll(/\{\w+\}/g, () => crypto.randomUUID());
    return [{ operationId: get.operationId, path: filled }];
  });
}

test("a list refuses a parameter that it does not know, by its name", async () => {
  const reads = await narrowedReads();
  expect(reads.length).toBeGreaterThan(15);
  const answers = await Promise.all(
    reads.map(async ({ operationId, path }) => {
      const response = await api(`${path}?${PARAMETER}=1`, { key: ours.admin });
      const isNamed = (await response.text()).includes(PARAMETER);
      return { operationId, status: response.status, isNamed };
    }),
  );
  const refused = reads.map(({ operationId }) => ({ operationId, status: 422, isNamed: true }));
  expect(answers).toEqual(refused);
});
