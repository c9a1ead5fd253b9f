import { expect, test } from "vitest";
import { AppError } from "../../src/shared/errors.ts";
import { assertRate } from "../../src/shared/rate-limit.ts";
import { api, workspace } from "../support/workspace.ts";

function callerOf(key_id: string) {
  return {
    caller: {
      organization_id: "o",
      workspace_id: "w",
      role: "admin",
      plan: "plus",
      actor: { type: "api_key", key_id, user_id: null },
    },
  } as const;
}

function refusal(key_id: string, now: number): unknown {
  try {
    assertRate(callerOf(key_id), "delete_project", now);
    return null;
  } catch (error) {
    return error;
  }
}

test("a caller's calls of a minute are counted, another's are not", () => {
  for (let n = 0; n < 30; n++) expect(refusal("a", 1000)).toBeNull();
  const error = refusal("a", 31_000);
  expect(error).toBeInstanceOf(AppError);
  expect(error).toMatchObject({ code: "rate_limited", retry_after_seconds: 30 });
  expect(refusal("b", 31_000)).toBeNull();
  expect(refusal("a", 61_000)).toBeNull();
});

test("too many requests are a 429 that says when to come again", async () => {
  const { admin } = await workspace();
  const call = { key: admin, json: { name: "again" } };
  let last: Response | undefined;
  for (let n = 0; n < 31; n++) {
    const project = await (await api("/sessions?upsert=true", call)).json<{ id: string }>();
    last = await api(`/sessions/${project.id}`, { key: admin, method: "DELETE" });
    await last.clone().body?.cancel();
  }
  expect(last?.status).toBe(429);
  expect(Number(last?.headers.get("Retry-After"))).toBeGreaterThan(0);
});

test("the control plane counts each caller's changes, and says so in its own shape", async () => {
  const [{ admin, viewer }, other] = [await workspace(), await workspace()];
  const call = (key: string) => api("/v2/deployments", { key, method: "POST", json: {} });
  let last = await call(admin);
  for (let n = 0; n < 600; n++) {
    await last.body?.cancel();
    last = await call(admin);
  }
  expect(last.status).toBe(429);
  expect(Number(last.headers.get("Retry-After"))).toBeGreaterThan(0);
  expect(await last.json()).toEqual({ detail: expect.stringContaining("More than 600 requests") });
  for (const key of [viewer, other.admin]) expect((await call(key)).status).toBe(422);
  expect((await api("/v2/deployments", { key: admin })).status).toBe(200);
});
