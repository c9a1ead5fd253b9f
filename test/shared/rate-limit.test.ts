import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { contextFor } from "../../src/shared/context.ts";
import { AppError } from "../../src/shared/errors.ts";
import { assertAnonymousRate } from "../../src/shared/http/rate-limit.ts";
import { ProjectCreateRequest } from "../../src/traces/projects/schema.ts";
import { createProject } from "../../src/traces/projects/service.ts";
import { RunsQueryRequest } from "../../src/traces/query/query-schema.ts";
import { queryRuns } from "../../src/traces/query/query-service.ts";
import { getTraceRun } from "../../src/traces/query/run-service.ts";
import { assertTraceRate } from "../../src/traces/rates.ts";
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
    assertTraceRate(callerOf(key_id), "delete_project", now);
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

test("the windows of other identities neither clear a window nor those of another limit", () => {
  const now = 100_000;
  for (let n = 0; n < 30; n++) expect(refusal("kept", now)).toBeNull();
  for (let n = 0; n < 9000; n++) refusal(`other-${n}`, now);
  expect(refusal("kept", now)).toMatchObject({ code: "rate_limited" });
  for (let n = 0; n < 20_000; n++) {
    const address = `198.${18 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`;
    assertAnonymousRate(new Headers({ "CF-Connecting-IP": address }), now);
  }
  expect(refusal("kept", now)).toMatchObject({ code: "rate_limited" });
});

test("too many requests are a 429 with Retry-After", async () => {
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

test("the control plane counts each caller's changes, and answers in its own shape", async () => {
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

describe("reads of traces, where the published limits are on", () => {
  const DAY_US = 86_400_000_000;
  const readWith = async (switched: "true" | "false", span_us: number | null) => {
    const { workspace_id, organization_id } = await workspace();
    const { caller } = callerOf("reader");
    const ctx = contextFor(
      { ...env, PUBLISHED_READ_LIMITS: switched },
      { ...caller, workspace_id, organization_id },
    );
    const { id: project } = await createProject(
      ctx,
      ProjectCreateRequest.parse({ name: "read" }),
      false,
    );
    const end_time = Date.now() * 1000;
    const start_time = span_us === null ? undefined : end_time - span_us;
    return {
      query: () =>
        queryRuns(
          ctx,
          RunsQueryRequest.parse({
            session: [project],
            start_time: toIso(start_time),
            end_time: toIso(end_time),
          }),
        ),
      get: () => getTraceRun(ctx, crypto.randomUUID()),
    };
  };
  const toIso = (micros: number | undefined) =>
    micros === undefined ? undefined : new Date(micros / 1000).toISOString();

  test.each([
    ["a week", 7 * DAY_US, 10],
    ["more than a week", 8 * DAY_US, 3],
    ["all of the time", null, 3],
  ])("a query of %s", async (_case, span_us, allowed) => {
    const { query } = await readWith("true", span_us);
    for (let n = 0; n < allowed; n++) expect((await query()).runs).toEqual([]);
    await expect(query()).rejects.toMatchObject({ code: "rate_limited" });
    const free = await readWith("false", span_us);
    for (let n = 0; n <= allowed; n++) expect((await free.query()).runs).toEqual([]);
  });

  test("a run by its id", async () => {
    const { get } = await readWith("true", null);
    for (let n = 0; n < 30; n++) await expect(get()).rejects.toMatchObject({ code: "not_found" });
    await expect(get()).rejects.toMatchObject({ code: "rate_limited" });
    const free = await readWith("false", null);
    for (let n = 0; n < 40; n++)
      await expect(free.get()).rejects.toMatchObject({ code: "not_found" });
  });
});
