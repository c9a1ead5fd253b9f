import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { resealWebhookSecrets } from "../../src/agent-server/webhooks/sweep.ts";
import { resealSecrets } from "../../src/control-plane/deployments/rollout/sweep.ts";
import { resealGrants } from "../../src/control-plane/oauth/storage/sweep.ts";
import { resealDestinations } from "../../src/exports/progress/sweep.ts";
import { decrypt, encrypt, type SealedText } from "../../src/shared/crypto/crypto.ts";
import { provider, tokenOf } from "../control-plane/oauth/support.ts";
import { testDeployment } from "../support/agent-deployment.ts";
import { bucket } from "../support/belongings.ts";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";

/** The keys of the tests: the first is today's, the second was that before a rotation. */
const [TODAY = "", BEFORE = ""] = env.ENCRYPTION_KEYS.split(",");
const today = { ENCRYPTION_KEYS: TODAY };
const before = { ENCRYPTION_KEYS: BEFORE };

type Row = SealedText & { id: string };

/** Tables that hold what is sealed, and whose each row's ciphertext is. */
const TABLES = {
  secrets: "'secret:' || deployment_id || ':' || name",
  integrations: "'integration:' || id",
  oauth_providers: "'oauth_provider:' || id",
  bulk_export_destinations: "'destination:' || id",
  webhook_secrets: "'webhook-secret:' || workspace_id",
};
const tables = Object.keys(TABLES) as (keyof typeof TABLES)[];

let ours: TestWorkspace;
let token_id: string;

beforeAll(async () => {
  ours = await workspace();
  const { workspace_id, admin } = ours;
  const { deployment_id } = await testDeployment(workspace_id);
  const owner = `secret:${deployment_id}:MODEL_KEY`;
  const { key_id, ciphertext } = await encrypt(env, "sk-secret", owner);
  await env.DB.prepare("INSERT INTO secrets VALUES (?, 'MODEL_KEY', ?, ?, ?, '2026-11-20')")
    .bind(deployment_id, workspace_id, key_id, ciphertext)
    .run();
  const host = { name: "host", token: "secret", api_url: "http://127.0.0.1:9" };
  await api("/v1/integrations/github/install", { key: admin, json: host });
  await api("/api/v1/bulk-exports/destinations", { key: admin, json: bucket() });
  await api("/v1/run-webhooks/secret", { key: admin, method: "PUT", json: {} });
  token_id = await tokenOf(ours, "key:somebody", await provider(admin));
});

async function rowsOf(table: keyof typeof TABLES): Promise<Row[]> {
  const { results } = await env.DB.prepare(
    `SELECT key_id, ciphertext, ${TABLES[table]} AS id FROM ${table} WHERE workspace_id = ?`,
  )
    .bind(ours.workspace_id)
    .all<Row>();
  return results;
}

/** A row that the former key sealed. */
async function age(table: keyof typeof TABLES) {
  for (const row of await rowsOf(table)) {
    const sealed = await encrypt(before, await decrypt(env, row, row.id), row.id);
    await env.DB.prepare(`UPDATE ${table} SET key_id = ?, ciphertext = ? WHERE ciphertext = ?`)
      .bind(sealed.key_id, sealed.ciphertext, row.ciphertext)
      .run();
  }
}

type StoredToken = { tokens: SealedText };

/** Reads the storage of the token's object; `change` replaces it. */
function grant(change?: (kept: StoredToken) => Promise<StoredToken>): Promise<StoredToken> {
  const stub = (env.TOKENS as DurableObjectNamespace).getByName(token_id);
  return runInDurableObject(stub, async (_, { storage }) => {
    const kept = storage.kv.get<StoredToken>("grant");
    if (kept === undefined) throw new Error("The object keeps no grant");
    if (change) storage.kv.put("grant", await change(kept));
    return kept;
  });
}

function ageGrant() {
  const owner = `oauth_token:${token_id}`;
  return grant(async (kept) => ({
    ...kept,
    tokens: await encrypt(before, await decrypt(env, kept.tokens, owner), owner),
  }));
}

async function rotate() {
  await resealSecrets(env);
  await resealDestinations(env);
  await resealGrants(env);
  await resealWebhookSecrets(env);
}

/** Their verifiers serve for ten minutes, and are not sealed anew. */
const SHORT_LIVED = "oauth_authorizations";

test("no table that holds something sealed is left out", async () => {
  const { results } = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%`ciphertext`%'",
  ).all<{ name: string }>();
  expect(results.map(({ name }) => name).sort()).toEqual([...tables, SHORT_LIVED].sort());
});

describe("after a rotation", () => {
  test.each(tables)("%s open with the current key alone, with the same values", async (table) => {
    await age(table);
    const old = await rowsOf(table);
    expect(old.map(({ key_id }) => key_id)).toEqual(["before"]);
    const texts = await Promise.all(old.map((row) => decrypt(before, row, row.id)));
    await rotate();
    const rows = await rowsOf(table);
    expect(await Promise.all(rows.map((row) => decrypt(today, row, row.id)))).toEqual(texts);
    await rotate();
    expect(await rowsOf(table)).toEqual(rows);
  });

  test("a token's object reseals, and its row records the key", async () => {
    await ageGrant();
    expect((await grant()).tokens.key_id).toBe("before");
    await env.DB.prepare("UPDATE oauth_tokens SET key_id = 'before' WHERE id = ?")
      .bind(token_id)
      .run();
    await rotate();
    const { tokens } = await grant();
    const text = await decrypt(today, tokens, `oauth_token:${token_id}`);
    expect(JSON.parse(text)).toMatchObject({ access_token: `access-${token_id}` });
    const row = await env.DB.prepare("SELECT key_id FROM oauth_tokens WHERE id = ?")
      .bind(token_id)
      .first();
    expect(row).toEqual({ key_id: "test" });
  });

  test("a row that does not open stays as it is, and keeps none of the others back", async () => {
    await age("integrations");
    await env.DB.prepare(
      "INSERT INTO integrations (id, workspace_id, name, api_url, key_id, ciphertext, created_at) VALUES ('altered', ?, 'a', 'https://a.test', 'before', 'AAAA', '2026-11-20')",
    )
      .bind(ours.workspace_id)
      .run();
    await rotate();
    const rows = await rowsOf("integrations");
    expect(rows.map(({ id, key_id }) => [id === "integration:altered", key_id]).sort()).toEqual([
      [false, "test"],
      [true, "before"],
    ]);
  });
});
