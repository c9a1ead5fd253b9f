import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { ChangeFeed } from "../../../src/shared/changes/change-feed.ts";
import { RecordCache } from "../../../src/shared/changes/record-cache.ts";
import { database } from "../../../src/shared/context.ts";
import { AppError } from "../../../src/shared/errors.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { createApiKey, createUser, setMembership } from "../../support/organizations.ts";
import { failD1 } from "../../support/outage.ts";
import { workspace } from "../../support/workspace.ts";

type Cached = { id: string; text: string };

const MAX_AGE_MS = 1000;
const MAX_OUTAGE_MS = 60_000;
const LIFE_MS = 600_000;

let passed = 0;
beforeEach(() => {
  // The same time in each test, so that a slow machine ends no period.
  const start = Date.now();
  vi.spyOn(Date, "now").mockImplementation(() => start + passed);
});
afterEach(() => void vi.restoreAllMocks());

function records(db: D1Database = env.DB) {
  const own = { ...env, DB: db };
  const feed = new ChangeFeed();
  const scopeOf = ({ id }: Cached) => id;
  const times = { max_age_ms: MAX_AGE_MS, max_outage_ms: MAX_OUTAGE_MS, life_ms: LIFE_MS };
  const sizeOf = ({ text }: Cached) => text.length;
  const cache = new RecordCache<Cached>({ ...times, scopeOf, sizeOf, feed });
  return {
    feed,
    get: (id: string, text: string) => cache.get(own, id, async () => ({ id, text })),
    refuse: (id: string) =>
      cache.get(own, id, () => Promise.reject(new AppError("not_found", "gone"))),
    fail: (id: string) => cache.get(own, id, () => Promise.reject(new Error("down"))),
  };
}

async function change(id: string): Promise<void> {
  const next = "(SELECT coalesce(max(version), 0) + 1 FROM changes)";
  const upsert = "ON CONFLICT (scope) DO UPDATE SET version = excluded.version";
  await run(`INSERT INTO changes (scope, version) VALUES (?, ${next}) ${upsert}`, id);
}

function run(statement: string, ...values: unknown[]) {
  return env.DB.prepare(statement)
    .bind(...values)
    .run();
}

test("one statement in each period shows which of many records has changed", async () => {
  // Other work of the isolate uses D1 too.
  const prepare = vi.fn((statement: string) => env.DB.prepare(statement));
  const { get } = records(Object.create(env.DB, { prepare: { value: prepare } }));
  const ids = Array.from({ length: 20 }, () => crypto.randomUUID());
  for (const id of ids) await get(id, "first");
  const [changed = "", ...others] = ids;
  await change(changed);
  prepare.mockClear();
  passed += MAX_AGE_MS;
  expect(await get(changed, "second")).toMatchObject({ text: "second" });
  for (const id of others) expect(await get(id, "second")).toMatchObject({ text: "first" });
  expect(prepare).toHaveBeenCalledTimes(1);
});

test("large records replace the oldest ones, and small ones stay beside them", async () => {
  const { get } = records();
  const id = crypto.randomUUID();
  await change(id);
  const large = "x".repeat(1024 * 1024);
  for (const name of ["a", "b", "c"]) await get(name, large);
  await get(id, "small");
  expect((await get("a", "again")).text).toBe(large);
  await get("d", large);
  expect((await get("b", "again")).text).toBe(large);
  expect((await get(id, "again")).text).toBe("small");
  expect((await get("a", "again")).text).toBe("again");
});

test("a record is read again after its life, and when D1 was restored to an earlier time", async () => {
  const { get } = records();
  const id = crypto.randomUUID();
  await change(id);
  await get(id, "first");
  passed += LIFE_MS - MAX_AGE_MS;
  expect(await get(id, "second")).toMatchObject({ text: "first" });
  passed += MAX_AGE_MS;
  expect(await get(id, "second")).toMatchObject({ text: "second" });
  await run("DELETE FROM changes");
  passed += MAX_AGE_MS;
  expect(await get(id, "restored")).toMatchObject({ text: "restored" });
});

test("a record that changed while it was read is not cached", async () => {
  const { feed, get } = records();
  const id = crypto.randomUUID();
  await get(crypto.randomUUID(), "polls");
  const cache = new RecordCache<Cached>({
    max_age_ms: MAX_AGE_MS,
    max_outage_ms: MAX_OUTAGE_MS,
    scopeOf: () => id,
    feed,
  });
  const before = await cache.get(env, id, async () => {
    await change(id);
    passed += MAX_AGE_MS;
    await get(crypto.randomUUID(), "polls");
    return { id, text: "before" };
  });
  expect(before.text).toBe("before");
  expect(await cache.get(env, id, async () => ({ id, text: "after" }))).toMatchObject({
    text: "after",
  });
});

test("a request beside the first poll after a pause gets no record that has changed", async () => {
  const { get } = records();
  const id = crypto.randomUUID();
  await get(id, "first");
  await change(id);
  passed += 50 * MAX_AGE_MS;
  const released = Promise.withResolvers<void>();
  const statement = Object.getPrototypeOf(env.DB.prepare("SELECT 1"));
  const { raw } = statement;
  const held = vi.spyOn(statement, "raw").mockImplementation(async function (
    this: unknown,
    ...args
  ) {
    await released.promise;
    return raw.apply(this, args);
  });
  const answers = [get(id, "second"), get(id, "second")];
  await expect.poll(() => held.mock.calls.length).toBe(2);
  released.resolve();
  expect(await Promise.all(answers)).toMatchObject([{ text: "second" }, { text: "second" }]);
});

describe("without D1", () => {
  test("a record serves for a bounded time", async () => {
    const { get, fail } = records();
    const id = crypto.randomUUID();
    await get(id, "first");
    const endOutage = failD1();
    passed += MAX_OUTAGE_MS - 1000;
    expect(await get(id, "second")).toMatchObject({ text: "first" });
    passed += 2000;
    await expect(fail(id)).rejects.toThrow("down");
    endOutage();
    passed += 2000;
    expect(await get(id, "second")).toMatchObject({ text: "second" });
  });

  test("a record that was refused does not serve", async () => {
    const { get, refuse, fail } = records();
    const id = crypto.randomUUID();
    await get(id, "first");
    await change(id);
    passed += MAX_AGE_MS;
    await expect(refuse(id)).rejects.toThrow("gone");
    failD1();
    passed += MAX_AGE_MS;
    await expect(fail(id)).rejects.toThrow("down");
  });

  test("a caller with a record does not wait for an answer that does not come", async () => {
    const { get } = records();
    const id = crypto.randomUUID();
    await get(id, "first");
    const statement = Object.getPrototypeOf(env.DB.prepare("SELECT 1"));
    vi.spyOn(statement, "raw").mockImplementation(() => new Promise(() => {}));
    passed += 2 * MAX_AGE_MS;
    expect(await get(id, "second")).toMatchObject({ text: "first" });
  });
});

describe("a version grows with", () => {
  let ids: Record<"deployment" | "organization" | "key" | "user" | "workspace", string>;

  beforeAll(async () => {
    const { organization_id, workspace_id } = await workspace();
    const db = database(env);
    const { deployment_id } = await testDeployment(workspace_id);
    const email = `${crypto.randomUUID()}@acme.test`;
    const { id: user } = await createUser(db, { organization_id, email });
    const input = { kind: "service", organization_id, workspace_id, role: "editor" } as const;
    const { id: key } = await createApiKey(db, input);
    ids = {
      deployment: deployment_id,
      organization: organization_id,
      key,
      user,
      workspace: workspace_id,
    };
    await setMembership(db, { user_id: user, workspace_id, role: "viewer" });
    const now = new Date().toISOString();
    await run(
      `INSERT INTO assistants (deployment_id, assistant_id, workspace_id, graph_id, version, name,
       config, context, metadata, is_system, created_at, updated_at)
       VALUES (?, 'a', ?, 'echo', 1, 'a', '{}', '{}', '{}', 0, ?, ?)`,
      ...[deployment_id, workspace_id, now, now],
    );
  });

  async function versionOf(scope: string): Promise<number> {
    const row = await env.DB.prepare("SELECT version FROM changes WHERE scope = ?")
      .bind(scope)
      .first<{ version: number }>();
    return row?.version ?? 0;
  }

  type Id = keyof typeof ids;
  // In an order in which no statement deletes the row of a later one.
  const CHANGES: [scope: Id, of: Id, statement: string][] = [
    ["deployment", "deployment", "UPDATE deployments SET active_revision_id = NULL WHERE id = ?"],
    ["deployment", "deployment", "UPDATE deployments SET traffic = '[]' WHERE id = ?"],
    ["deployment", "deployment", "UPDATE deployments SET secrets_version = 2 WHERE id = ?"],
    ["deployment", "deployment", "UPDATE deployments SET status = 'AWAITING_DELETE' WHERE id = ?"],
    ["deployment", "deployment", "UPDATE revisions SET deleted_at = '' WHERE deployment_id = ?"],
    ["deployment", "deployment", "UPDATE assistants SET version = 2 WHERE deployment_id = ?"],
    ["deployment", "deployment", "DELETE FROM assistants WHERE deployment_id = ?"],
    ["organization", "key", "UPDATE api_keys SET expires_at = created_at WHERE id = ?"],
    ["organization", "key", "UPDATE api_keys SET sha256 = 'rotated' WHERE id = ?"],
    ["organization", "key", "UPDATE api_keys SET revoked_at = created_at WHERE id = ?"],
    ["organization", "key", "DELETE FROM api_keys WHERE id = ?"],
    ["organization", "user", "UPDATE users SET organization_role = 'admin' WHERE id = ?"],
    ["organization", "user", "UPDATE memberships SET role = 'editor' WHERE user_id = ?"],
    ["organization", "user", "DELETE FROM memberships WHERE user_id = ?"],
    ["organization", "user", "DELETE FROM users WHERE id = ?"],
    ["organization", "organization", "UPDATE organizations SET plan = 'plus' WHERE id = ?"],
  ];

  test.each(CHANGES)("a change of the %s: %s, %s", async (scope, of, statement) => {
    const before = await versionOf(ids[scope]);
    const { meta } = await run(statement, ids[of]);
    expect(meta.changes).toBeGreaterThan(0);
    expect(await versionOf(ids[scope])).toBeGreaterThan(before);
  });

  test("no change that cached records do not have", async () => {
    const before = await versionOf(ids.deployment);
    await run("UPDATE deployments SET display_name = 'x' WHERE id = ?", ids.deployment);
    await run(
      "UPDATE revisions SET lease_expires_at = 'x' WHERE deployment_id = ?",
      ids.deployment,
    );
    await run("UPDATE api_keys SET last_used_at = 'x' WHERE organization_id = ?", ids.organization);
    expect(await versionOf(ids.deployment)).toBe(before);
  });
});
