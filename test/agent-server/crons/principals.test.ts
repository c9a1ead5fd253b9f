// A cron must not outlive the rights of its principal, nor lend them to its editor.
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { and, eq } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { fire } from "../../../src/agent-server/crons/firing.ts";
import type { CronRow } from "../../../src/agent-server/crons/records.ts";
import { forgetActive } from "../../../src/control-plane/deployments/active.ts";
import { revisions } from "../../../src/control-plane/deployments/table.ts";
import { api_keys, memberships } from "../../../src/control-plane/workspaces/table.ts";
import { database } from "../../../src/shared/context.ts";
import { person, provider, tokenOf } from "../../control-plane/oauth/support.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { agentWithUsers } from "../../support/agent-users.ts";
import { setMembership } from "../../support/organizations.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Cron = { cron_id: string; enabled: boolean; user_id: string | null };
type Thread = { thread_id: string; values: unknown };
type Person = Awaited<ReturnType<typeof person>>;

const db = database(env);
let ours: TestWorkspace;

beforeAll(async () => {
  ours = await workspace();
});

async function agent() {
  const { deployment_id } = await testDeployment(ours.workspace_id);
  const base = `/agents/${deployment_id}`;
  const call = async <T>(key: string, path: string, json?: unknown, method?: string) => {
    const sent = { key, ...(json !== undefined && { json }), ...(method && { method }) };
    const response = await api(`${base}${path}`, sent);
    expect([response.status, path]).toEqual([200, path]);
    return response.json<T>();
  };
  const create = (key: string, json: object = {}) =>
    call<Cron>(key, "/runs/crons", { ...HOURLY, on_run_completed: "keep", ...json });
  const patch = (key: string, { cron_id }: Cron, json: object) =>
    call<Cron>(key, `/runs/crons/${cron_id}`, json, "PATCH");
  const get = ({ cron_id }: Cron) => call<Cron>(ours.admin, `/runs/crons/${cron_id}`);
  /** The threads of the runs that the cron has started. */
  const threads = ({ cron_id }: Cron) =>
    call<Thread[]>(ours.admin, "/threads/search", { metadata: { cron_id } });
  const logs = async () => {
    const path = `/v1/projects/${deployment_id}/deploy_logs`;
    return (await api(path, { key: ours.admin, json: {} })).text();
  };
  return { deployment_id, base, create, patch, get, threads, logs, fires: firing(deployment_id) };
}

const HOURLY = { assistant_id: "echo", schedule: "0 * * * *", input: { messages: [] } };

function firing(deployment_id: string) {
  const object = env.CRONS.getByName(deployment_id);
  return async ({ cron_id }: Cron) => {
    await runInDurableObject(object, (_, { storage }) => {
      const sql = "UPDATE crons SET next_at = ?, retry_at = NULL WHERE cron_id = ?";
      storage.sql.exec(sql, Date.now() - 1000, cron_id);
    });
    await runDurableObjectAlarm(object);
  };
}

/** Lists of threads follow their threads by some time. */

async function expectRuns(threads: (cron: Cron) => Promise<Thread[]>, cron: Cron, count: number) {
  await expect.poll(async () => (await threads(cron)).length).toBe(count);
}

function rowOf(deployment_id: string, { cron_id }: Cron): Promise<CronRow | null> {
  return env.CRONS.getByName(deployment_id).getCron(cron_id) as Promise<CronRow | null>;
}

const isMember = ({ user_id }: Person) =>
  and(eq(memberships.user_id, user_id), eq(memberships.workspace_id, ours.workspace_id));
const past = () => new Date(Date.now() - 1000).toISOString();

const ENDS: Record<string, (who: Person) => Promise<unknown>> = {
  "is revoked": ({ user_id }) =>
    db.update(api_keys).set({ revoked_at: past() }).where(eq(api_keys.user_id, user_id)),
  expires: ({ user_id }) =>
    db.update(api_keys).set({ expires_at: past() }).where(eq(api_keys.user_id, user_id)),
  "is of a user who is removed": (who) => db.delete(memberships).where(isMember(who)),
  "is of a user who becomes a viewer": ({ user_id }) =>
    setMembership(db, { user_id, workspace_id: ours.workspace_id, role: "viewer" }),
};

describe.each(Object.entries(ENDS))("when the key of its principal %s", (_, end) => {
  test("a cron is disabled, with a line in the agent's log", async () => {
    const { create, get, threads, logs, fires } = await agent();
    const editor = await person(ours, "editor");
    const cron = await create(editor.key);
    await fires(cron);
    await expectRuns(threads, cron, 1);
    await end(editor);
    await fires(cron);
    await expectRuns(threads, cron, 1);
    expect(await get(cron)).toMatchObject({ enabled: false, next_run_date: null });
    expect(await logs()).toContain(`Cron ${cron.cron_id} was disabled`);
  });
});

test("a cron continues as an editor when its principal loses the admin role", async () => {
  const { create, get, threads, fires } = await agent();
  const { key, user_id } = await person(ours, "admin");
  const cron = await create(key);
  await setMembership(db, { user_id, workspace_id: ours.workspace_id, role: "editor" });
  await fires(cron);
  await expectRuns(threads, cron, 1);
  expect((await get(cron)).enabled).toBe(true);
});

test("an editor of a cron gets runs of their own, and no token of its maker", async () => {
  const { create, patch, threads, fires } = await agent();
  const [maker, editor] = [await person(ours, "editor"), await person(ours, "editor")];
  const idp = await provider(ours.editor);
  const token = `access-${await tokenOf(ours, `user:${maker.user_id}`, idp)}`;
  const interrupting = {
    assistant_id: "signs_in_plainly",
    input: { body: { provider: idp, scopes: ["repo"] } },
  };
  const cron = await create(maker.key, interrupting);
  await fires(cron);
  await expect.poll(async () => JSON.stringify(await threads(cron))).toContain(token);
  expect(await patch(editor.key, cron, { metadata: { by: "editor" } })).toMatchObject({
    user_id: editor.user_id,
  });
  await fires(cron);
  await expectRuns(threads, cron, 2);
  await expect.poll(async () => JSON.stringify(await threads(cron))).toContain('"pending"');
  expect(JSON.stringify(await threads(cron)).split(token)).toHaveLength(2);
});

test("a cron that another editor has changed ends with that editor, and not with its maker", async () => {
  const { create, patch, get, threads, fires } = await agent();
  const [maker, editor] = [await person(ours, "editor"), await person(ours, "editor")];
  const cron = await create(maker.key);
  await patch(editor.key, cron, { input: { messages: ["another"] } });
  await ENDS["is revoked"]?.(maker);
  await fires(cron);
  await expectRuns(threads, cron, 1);
  await ENDS["is revoked"]?.(editor);
  await fires(cron);
  await expectRuns(threads, cron, 1);
  expect((await get(cron)).enabled).toBe(false);
  await patch(ours.editor, cron, { enabled: true });
  await fires(cron);
  await expectRuns(threads, cron, 2);
});

test("a firing is tried again while D1 is down", async () => {
  const { create, deployment_id, get } = await agent();
  const cron = await create((await person(ours, "editor")).key);
  const row = await rowOf(deployment_id, cron);
  const DB = {
    prepare() {
      throw new Error("D1 is down");
    },
  } as unknown as D1Database;
  expect(row && (await fire({ ...env, DB }, row, Date.now()))).toMatchObject({ outcome: "retry" });
  expect((await get(cron)).enabled).toBe(true);
});

test("a firing over a quota is skipped, and the cron stays enabled", async () => {
  const { create, deployment_id, get, logs } = await agent();
  const cron = await create((await person(ours, "editor")).key);
  const row = await rowOf(deployment_id, cron);
  const put = (quotas: unknown[]) =>
    api("/v1/quotas", { key: ours.admin, method: "PUT", json: { quotas } });
  expect((await put([{ meter: "runs_created", period: "day", limit: 0 }])).status).toBe(200);
  const skipped = row && (await fire(env, row, Date.now()));
  await put([]);
  expect(skipped).toMatchObject({
    outcome: "skipped",
    message: expect.stringMatching(/quota of 0/),
  });
  expect(await logs()).toContain(`Cron ${cron.cron_id} skipped its firing of `);
  expect((await get(cron)).enabled).toBe(true);
});

describe("a cron of a user of the agent", () => {
  async function userCron() {
    const { as, deployment_id, revision_id } = await agentWithUsers();
    const { json } = await as("ada")("/runs/crons", { json: HOURLY });
    const cron = json as Cron;
    const fires = firing(deployment_id);
    const isEnabled = async () => (await rowOf(deployment_id, cron))?.enabled;
    return { cron, deployment_id, revision_id, fires, isEnabled };
  }

  test("is disabled once the agent's own auth refuses the user", async () => {
    const { cron, deployment_id, fires, isEnabled } = await userCron();
    await fires(cron);
    expect(await isEnabled()).toBe(true);
    const object = env.CRONS.getByName(deployment_id);
    await runInDurableObject(object, (_, { storage }) => {
      storage.sql.exec("UPDATE crons SET principal = replace(principal, '\"ada\"', '\"nobody\"')");
    });
    await fires(cron);
    expect(await isEnabled()).toBe(false);
  });

  test("is tried again while the agent's own auth fails", async () => {
    const { cron, deployment_id, fires, isEnabled } = await userCron();
    const object = env.CRONS.getByName(deployment_id);
    await runInDurableObject(object, (_, { storage }) => {
      storage.sql.exec("UPDATE crons SET principal = replace(principal, '\"ada\"', '\"crashes\"')");
    });
    await fires(cron);
    expect(await isEnabled()).toBe(true);
    expect((await rowOf(deployment_id, cron))?.tries).toBe(1);
  });

  test("is disabled once the agent has no auth that limits the user", async () => {
    const { cron, deployment_id, revision_id, fires, isEnabled } = await userCron();
    await db.update(revisions).set({ config: {} }).where(eq(revisions.id, revision_id));
    forgetActive(deployment_id);
    await fires(cron);
    expect(await isEnabled()).toBe(false);
  });
});
