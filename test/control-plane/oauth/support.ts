import { env } from "cloudflare:workers";
import { and, eq } from "drizzle-orm";
import type { Grant } from "../../../src/control-plane/oauth/client/provider-access.ts";
import { tokenObject } from "../../../src/control-plane/oauth/storage/stub.ts";
import { oauth_providers, oauth_tokens } from "../../../src/control-plane/oauth/table.ts";
import { database } from "../../../src/shared/context.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { createApiKey, createUser, setMembership } from "../../support/organizations.ts";
import { api, type TestWorkspace } from "../../support/workspace.ts";

/** A port on which nothing listens. */
export const DOWN = "http://127.0.0.1:9";

export function providerBody(fields: Record<string, unknown> = {}) {
  return {
    provider_id: `p-${crypto.randomUUID()}`,
    name: "Provider",
    client_id: "client",
    client_secret: "secret-not-to-be-seen",
    auth_url: `${DOWN}/auth`,
    token_url: `${DOWN}/token`,
    uses_pkce: true,
    ...fields,
  };
}

export async function provider(key: string, fields: Record<string, unknown> = {}): Promise<string> {
  const response = await api("/v2/auth/providers", { key, json: providerBody(fields) });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json<{ provider_id: string }>()).provider_id;
}

/** A person of the workspace, with a personal key. */
export async function person(ws: TestWorkspace, role: "admin" | "editor" | "viewer") {
  const db = database(env);
  const { organization_id, workspace_id } = ws;
  const email = `${crypto.randomUUID()}@acme.test`;
  const { id: user_id } = await createUser(db, { organization_id, email });
  await setMembership(db, { user_id, workspace_id, role });
  const { api_key } = await createApiKey(db, { kind: "personal", organization_id, user_id });
  return { user_id, email, key: api_key };
}

export type Authentication = {
  status: string;
  url: string;
  auth_id: string;
  token: string | null;
  user_id: string | null;
  metadata: { token_id: string } | null;
};

export async function authenticate(key: string, json: Record<string, unknown>) {
  const response = await api("/v2/auth/authenticate", { key, json: { scopes: ["repo"], ...json } });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return response.json<Authentication>();
}

type Token = typeof oauth_tokens.$inferInsert;
type GrantFields = Partial<Grant>;

/** A token as a finished consent leaves it: its grant in its object, its row in the directory. */
export async function tokenOf(
  { workspace_id }: TestWorkspace,
  owner: string,
  provider_id: string,
  { grant, ...fields }: Partial<Token> & { grant?: GrantFields } = {},
): Promise<string> {
  const db = database(env);
  const isProvider = and(
    eq(oauth_providers.workspace_id, workspace_id),
    eq(oauth_providers.provider_id, provider_id),
  );
  const row = await db.select().from(oauth_providers).where(isProvider).get();
  if (!row) throw new Error(`No provider ${provider_id}`);
  const id = newId();
  const now = new Date().toISOString();
  await tokenObject(env, id).store(id, {
    access_token: `access-${id}`,
    refresh_token: `refresh-${id}`,
    token_type: "Bearer",
    expires_at: null,
    refresh_at: null,
    scopes: null,
    account_label: null,
    ...grant,
  });
  await db.insert(oauth_tokens).values({
    id,
    workspace_id,
    oauth_provider_id: row.id,
    provider_id,
    owner,
    subject: "",
    scopes: ["repo"],
    requested_scopes: ["repo"],
    is_default: true,
    created_at: now,
    updated_at: now,
    ...fields,
  });
  return id;
}
