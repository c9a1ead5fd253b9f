import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeAll, expect, test, vi } from "vitest";
import { saveToken } from "../../../src/control-plane/oauth/authorizations/new-token.ts";
import { discoverRevocation } from "../../../src/control-plane/oauth/client/discovery.ts";
import { sweepLeftTokens } from "../../../src/control-plane/oauth/storage/left-tokens.ts";
import { tokenObject } from "../../../src/control-plane/oauth/storage/stub.ts";
import {
  oauth_authorizations,
  oauth_providers,
  oauth_tokens,
} from "../../../src/control-plane/oauth/table.ts";
import { memberships, users } from "../../../src/control-plane/workspaces/table.ts";
import { database } from "../../../src/shared/context.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { answerHost } from "../../support/answer-host.ts";
import { createApiKey, revokeApiKey, setMembership } from "../../support/organizations.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";
import { authenticate, person, provider, tokenOf } from "./support.ts";

let ours: TestWorkspace;
let takesNothingBack: string;
let down: string;
beforeAll(async () => {
  ours = await workspace();
  takesNothingBack = await provider(ours.editor, { provider_type: "microsoft" });
  down = await provider(ours.editor);
});

const HOUR_MS = 3_600_000;
const GRANT = {
  access_token: "access",
  refresh_token: null,
  token_type: "Bearer",
  expires_at: null,
  refresh_at: null,
  scopes: null,
  account_label: null,
};
const db = () => database(env);

async function member() {
  const { user_id } = await person(ours, "viewer");
  return { user_id, owner: `user:${user_id}` };
}

function removeMember(user_id: string) {
  return api(`/workspaces/current/members/${user_id}`, { key: ours.admin, method: "DELETE" });
}

/** Sweeps a moment later: triggers mark with the time of the database. */
function sweep(after_ms = 1000) {
  return sweepLeftTokens(env, new Date(Date.now() + after_ms));
}

async function isKept(id: string): Promise<boolean> {
  const [row] = await db().select().from(oauth_tokens).where(eq(oauth_tokens.id, id));
  const namespace = env.TOKENS as DurableObjectNamespace;
  const stored = await runInDurableObject(namespace.getByName(id), (_object, state) => [
    ...state.storage.kv.list(),
  ]);
  expect(stored.length > 0, "the grant of the token").toBe(row !== undefined);
  return row !== undefined;
}

test("the tokens of a removed member are revoked in that workspace, and those of others kept", async () => {
  const [leaver, other] = [await member(), await member()];
  const elsewhere = await workspace();
  await setMembership(db(), {
    user_id: leaver.user_id,
    workspace_id: elsewhere.workspace_id,
    role: "viewer",
  });
  const name = await provider(elsewhere.editor, { provider_type: "microsoft" });
  const gone = await tokenOf(ours, leaver.owner, takesNothingBack);
  const kept = [
    await tokenOf(ours, other.owner, takesNothingBack),
    await tokenOf(elsewhere, leaver.owner, name),
  ];
  expect((await removeMember(leaver.user_id)).status).toBe(200);
  await sweep();
  expect(await isKept(gone)).toBe(false);
  for (const id of kept) expect(await isKept(id)).toBe(true);
});

test("a member who is added again before the sweep keeps the tokens", async () => {
  const { user_id, owner } = await member();
  const id = await tokenOf(ours, owner, takesNothingBack);
  await removeMember(user_id);
  await setMembership(db(), { user_id, workspace_id: ours.workspace_id, role: "viewer" });
  await sweep();
  expect(await isKept(id)).toBe(true);
  await db().delete(memberships).where(eq(memberships.user_id, user_id));
  await sweep();
  expect(await isKept(id)).toBe(false);
});

test("a consent that ends after its owner has left stores no token that stays", async () => {
  const { user_id, key } = await person(ours, "viewer");
  const renew = async () => {
    const { auth_id } = await authenticate(key, { provider: takesNothingBack, force_new: true });
    const [row] = await db()
      .select()
      .from(oauth_authorizations)
      .where(eq(oauth_authorizations.id, auth_id));
    if (row === undefined) throw new Error("The consent has no row");
    return row;
  };
  const [present, late] = [await renew(), await renew()];
  const end = async (row: typeof present) => {
    await tokenObject(env, row.token_id).store(row.token_id, GRANT);
    expect(await saveToken(db(), row, GRANT)).toBe(true);
    await sweep();
    return isKept(row.token_id);
  };
  expect(await end(present)).toBe(true);
  await removeMember(user_id);
  expect(await end(late)).toBe(false);
});

test("an admin of the organization keeps the tokens until that role is taken away", async () => {
  const { user_id, owner } = await member();
  const setRole = (organization_role: "admin" | "user") =>
    db().update(users).set({ organization_role }).where(eq(users.id, user_id));
  await setRole("admin");
  const id = await tokenOf(ours, owner, takesNothingBack);
  await removeMember(user_id);
  await sweep();
  expect(await isKept(id)).toBe(true);
  await setRole("user");
  await sweep();
  expect(await isKept(id)).toBe(false);
});

test("the tokens of a revoked service key are revoked", async () => {
  const { organization_id, workspace_id } = ours;
  const made = () =>
    createApiKey(db(), { kind: "service", organization_id, workspace_id, role: "editor" });
  const [revoked, valid] = [await made(), await made()];
  const ids = [
    await tokenOf(ours, `key:${revoked.id}`, takesNothingBack),
    await tokenOf(ours, `key:${valid.id}`, takesNothingBack),
  ] as const;
  await revokeApiKey(db(), { organization_id, api_key_id: revoked.id });
  await sweep();
  expect(await isKept(ids[0])).toBe(false);
  expect(await isKept(ids[1])).toBe(true);
});

test("the tokens of a service key are revoked once it has expired", async () => {
  const { organization_id, workspace_id } = ours;
  const made = async (ms: number) => {
    const expires_at = new Date(Date.now() + ms).toISOString();
    const key = { kind: "service", organization_id, workspace_id, role: "editor" } as const;
    const { id } = await createApiKey(db(), { ...key, expires_at });
    const left_at = new Date().toISOString();
    return tokenOf(ours, `key:${id}`, takesNothingBack, { left_at });
  };
  const [expired, valid] = [await made(0), await made(HOUR_MS)];
  await sweep();
  expect(await isKept(expired)).toBe(false);
  expect(await isKept(valid)).toBe(true);
  await sweep(HOUR_MS + 1000);
  expect(await isKept(valid)).toBe(false);
});

test("a token whose provider cannot be reached is tried again after an hour", async () => {
  const { user_id, owner } = await member();
  const id = await tokenOf(ours, owner, down);
  await removeMember(user_id);
  await sweep();
  expect(await isKept(id)).toBe(true);
  const [row] = await db().select().from(oauth_tokens).where(eq(oauth_tokens.id, id));
  expect(Date.parse(row?.left_at ?? "")).toBeGreaterThan(Date.now() + HOUR_MS - 60_000);
});

test("overlapping sweeps call the provider once for a token", async () => {
  const { user_id, owner } = await member();
  const name = await provider(ours.editor, { revocation_url: "http://127.0.0.1:9/once" });
  await tokenOf(ours, owner, name, { grant: { refresh_token: null } });
  await removeMember(user_id);
  const fetched = vi.spyOn(globalThis, "fetch");
  await Promise.all([sweep(), sweep()]);
  const urls = fetched.mock.calls.map(([input]) => String(input));
  fetched.mockRestore();
  expect(urls.filter((url) => url.endsWith("/once"))).toHaveLength(1);
});

/** Marked tokens of an owner who left, without a grant. */
async function markedTokens(ws: TestWorkspace, name: string, count: number, left_at: string) {
  const row = await db()
    .select()
    .from(oauth_providers)
    .where(eq(oauth_providers.provider_id, name))
    .get();
  if (row === undefined) throw new Error(`No provider ${name}`);
  const one = {
    workspace_id: ws.workspace_id,
    oauth_provider_id: row.id,
    provider_id: name,
    owner: `key:${newId()}`,
    subject: "",
    scopes: [],
    requested_scopes: [],
    is_default: false,
    left_at,
    created_at: left_at,
    updated_at: left_at,
  };
  const [first, ...rest] = Array.from({ length: count }, () =>
    db()
      .insert(oauth_tokens)
      .values({ id: newId(), ...one }),
  );
  if (first !== undefined) await db().batch([first, ...rest]);
}

function countOf(ws: TestWorkspace) {
  return db().$count(oauth_tokens, eq(oauth_tokens.workspace_id, ws.workspace_id));
}

test("a hundred tokens a tick are revoked in turns of the workspaces", async () => {
  const [many, few] = [await workspace(), await workspace()];
  const names = [
    await provider(many.editor, { provider_type: "microsoft" }),
    await provider(few.editor, { provider_type: "microsoft" }),
  ] as const;
  const at = (ms: number) => new Date(Date.now() + ms).toISOString();
  await markedTokens(many, names[0], 120, at(-HOUR_MS));
  await markedTokens(few, names[1], 2, at(0));
  await sweep();
  expect([await countOf(many), await countOf(few)]).toEqual([22, 0]);
  await sweep();
  expect(await countOf(many)).toBe(0);
});

test("a provider that answers each address of its metadata slowly has ten seconds for all", async () => {
  let now = Date.now();
  vi.spyOn(Date, "now").mockImplementation(() => now);
  const requests = answerHost("slow.test", () => {
    now += 6000;
    return new Response(null, { status: 404 });
  });
  const found = await discoverRevocation(env, "https://slow.test/a/b/c/d/e/f/token");
  vi.restoreAllMocks();
  expect(found).toMatchObject({ ok: false, reason: "unavailable" });
  expect(requests).toHaveLength(2);
});
