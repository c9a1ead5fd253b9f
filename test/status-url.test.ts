import { expect, test } from "vitest";
import { api } from "./support/workspace.ts";

test("the status URL of command-line tools leads to the deployment in the console", async () => {
  const [tenant, id] = [crypto.randomUUID(), crypto.randomUUID()];
  const response = await api(`/o/${tenant}/host/deployments/${id}`, { redirect: "manual" });
  expect([response.status, response.headers.get("Location")]).toEqual([
    302,
    `/console/w/${tenant}/deployments/${id}`,
  ]);
});

test.each([
  ["workspace_id", `/o/%2F%2Fevil.test/host/deployments/${crypto.randomUUID()}`],
  ["deployment_id", `/o/${crypto.randomUUID()}/host/deployments/..%2Fsettings`],
])("the status URL refuses a %s that is not a UUID", async (name, path) => {
  const response = await api(path);
  expect([response.status, await response.json()]).toEqual([
    422,
    { detail: [{ loc: ["path", name], msg: "must be a UUID", type: "uuid_parsing" }] },
  ]);
});
