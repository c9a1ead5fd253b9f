import { expect, test } from "vitest";
import { api } from "./support/workspace.ts";

test("the status URL of command-line tools leads to the console", async () => {
  const [tenant, id] = [crypto.randomUUID(), crypto.randomUUID()];
  const response = await api(`/o/${tenant}/host/deployments/${id}`, { redirect: "manual" });
  expect([response.status, response.headers.get("Location")]).toEqual([
    302,
    `/console/w/${tenant}/deployments`,
  ]);
});

test("the status URL refuses a workspace id that is not a UUID", async () => {
  const response = await api(`/o/%2F%2Fevil.test/host/deployments/${crypto.randomUUID()}`);
  expect([response.status, await response.json()]).toEqual([
    422,
    { detail: [{ loc: ["path", "workspace_id"], msg: "must be a UUID", type: "uuid_parsing" }] },
  ]);
});
