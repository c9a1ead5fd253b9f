import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import {
  type NewWorkspace,
  workspaceQuery,
  workspaceStatements,
} from "../../../scripts/workspace-sql.ts";
import { resolveCaller } from "../../../src/control-plane/workspaces/auth.ts";

const ORDER = { org: "acme's", plan: "plus", name: "re;search", role: "editor" } as const;

async function run(order: NewWorkspace) {
  const { sql, api_key } = workspaceStatements(order);
  await env.DB.exec(sql);
  const row = await env.DB.prepare(workspaceQuery(order)).first<{
    organization_id: string;
    tenant_id: string;
  }>();
  if (row === null) throw new Error("the workspace was not made");
  return { ...row, api_key };
}

test("the key acts in the workspace that was made", async () => {
  const { api_key, organization_id, tenant_id } = await run(ORDER);
  const caller = await resolveCaller(env, new Headers({ "X-Api-Key": api_key }));
  expect(caller).toMatchObject({
    organization_id,
    workspace_id: tenant_id,
    role: "editor",
    plan: "plus",
  });
});

test("the same names give the same ids, the new plan and one more key", async () => {
  const order = { ...ORDER, org: "twice" };
  const first = await run(order);
  const second = await run({ ...order, plan: "enterprise", role: "viewer" });
  expect({ ...second, api_key: "" }).toEqual({ ...first, api_key: "" });
  const before = await resolveCaller(env, new Headers({ "X-Api-Key": first.api_key }));
  const after = await resolveCaller(env, new Headers({ "X-Api-Key": second.api_key }));
  expect([before.role, after.role]).toEqual(["editor", "viewer"]);
  expect([before.plan, after.plan]).toEqual(["enterprise", "enterprise"]);
});

test("two organizations may have a workspace of one name", async () => {
  const first = await run({ ...ORDER, org: "one", name: "same" });
  const second = await run({ ...ORDER, org: "two", name: "same" });
  expect(second.tenant_id).not.toBe(first.tenant_id);
  const caller = await resolveCaller(env, new Headers({ "X-Api-Key": second.api_key }));
  expect(caller).toMatchObject({ workspace_id: second.tenant_id });
});
