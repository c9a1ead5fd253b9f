import { env } from "cloudflare:workers";
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  exportJWK,
  generateKeyPair,
  type JWTPayload,
  SignJWT,
} from "jose";
import { describe, expect, test } from "vitest";
import { chooseWorkspace } from "../../../src/control-plane/workspaces/access.ts";
import { findUser } from "../../../src/control-plane/workspaces/credentials.ts";
import { type Issuer, verifyJwt } from "../../../src/control-plane/workspaces/jwt.ts";
import { database } from "../../../src/shared/context.ts";
import { createUser, createWorkspace, setMembership } from "../../support/organizations.ts";
import { workspace } from "../../support/workspace.ts";

const ISSUER = "https://login.acme.test";
const db = database(env);
const { publicKey, privateKey } = await generateKeyPair("ES256");
const stranger = await generateKeyPair("ES256");
const trusted: Issuer = {
  issuer: ISSUER,
  audience: "heddle",
  keys: createLocalJWKSet({ keys: [{ ...(await exportJWK(publicKey)), kid: "k1", alg: "ES256" }] }),
};

type Change = {
  issuer?: string;
  expires?: string;
  key?: CryptoKey;
  audience?: string | string[];
  typ?: string;
};

function sign(claims: JWTPayload, change: Change = {}): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: "ES256", kid: "k1", ...(change.typ && { typ: change.typ }) })
    .setIssuer(change.issuer ?? ISSUER)
    .setAudience(change.audience ?? "heddle")
    .setExpirationTime(change.expires ?? "5m")
    .sign(change.key ?? privateKey);
}

describe("a token of the issuer", () => {
  test("gives the subject, the proven email and the time it ends", async () => {
    const token = await sign({ sub: "ada", email: "ada@acme.test", email_verified: true });
    const { subject, email, expires_at_ms } = await verifyJwt(token, trusted);
    expect({ subject, email }).toEqual({ subject: "ada", email: "ada@acme.test" });
    expect(expires_at_ms).toBeGreaterThan(Date.now());
  });

  test("gives no email that the issuer has not verified", async () => {
    for (const email_verified of [undefined, false, "true"]) {
      const token = await sign({ sub: "ada", email: "ada@acme.test", email_verified });
      expect((await verifyJwt(token, trusted)).email).toBeNull();
    }
  });

  test("is refused while no audience is configured", async () => {
    const verified = verifyJwt(await sign({ sub: "ada" }), { ...trusted, audience: "" });
    await expect(verified).rejects.toMatchObject({ code: "unavailable" });
  });

  test("may name the issuer's own audiences too, or others when azp is ours", async () => {
    const own = await sign({ sub: "ada" }, { audience: ["heddle", `${ISSUER}/userinfo`] });
    const others = await sign({ sub: "ada", azp: "heddle" }, { audience: ["heddle", "other"] });
    for (const token of [own, others]) {
      expect((await verifyJwt(token, trusted)).subject).toBe("ada");
    }
  });

  test.each(["JWT", "jwt", "at+jwt", "application/at+JWT"])("may have the type %s", async (typ) => {
    expect((await verifyJwt(await sign({ sub: "ada" }, { typ }), trusted)).subject).toBe("ada");
  });
});

test.each<[string, () => Promise<string>]>([
  ["of another issuer", () => sign({ sub: "ada" }, { issuer: "https://evil.test" })],
  ["for another audience", () => sign({ sub: "ada" }, { audience: "other" })],
  ["for two audiences", () => sign({ sub: "ada" }, { audience: ["heddle", "other"] })],
  [
    "for a host that begins like the issuer",
    () => sign({ sub: "ada" }, { audience: ["heddle", `${ISSUER}.evil.test/api`] }),
  ],
  [
    "for two audiences, made for the other one",
    () => sign({ sub: "ada", azp: "other" }, { audience: ["heddle", "other"] }),
  ],
  ["that is a logout token", () => sign({ sub: "ada" }, { typ: "logout+jwt" })],
  ["that ended", () => sign({ sub: "ada" }, { expires: "-1m" })],
  ["signed with another key", () => sign({ sub: "ada" }, { key: stranger.privateKey })],
  ["without a subject", () => sign({})],
  ["that is no JWT", async () => "a.b.c"],
  [
    "without a signature",
    async () => {
      const payload = btoa(JSON.stringify({ sub: "ada", iss: ISSUER, exp: 9e9 }));
      return `${btoa('{"alg":"none"}')}.${payload}.`;
    },
  ],
])("a token %s is a 401", async (_, token) => {
  await expect(verifyJwt(await token(), trusted)).rejects.toMatchObject({
    code: "unauthenticated",
  });
});

test("keys that cannot be read are a 503, not the caller's fault", async () => {
  const keys = async () => {
    throw new TypeError("network");
  };
  const failure = verifyJwt(await sign({ sub: "ada" }), { ...trusted, keys });
  await expect(failure).rejects.toMatchObject({ code: "unavailable" });
});

test.each([
  ["an error", () => new Response("busy", { status: 503 })],
  ["a page", () => new Response("<html>")],
  ["no key set", () => Response.json({ error: "busy" })],
])("an issuer that sends %s in place of its keys is a 503", async (_case, answer) => {
  const url = new URL("https://login.acme.test/jwks");
  const keys = createRemoteJWKSet(url, { [customFetch]: async () => answer() });
  const failure = verifyJwt(await sign({ sub: "ada" }), { ...trusted, keys });
  await expect(failure).rejects.toMatchObject({ code: "unavailable" });
});

describe("the user of a token", () => {
  async function ada(subject?: string) {
    const { organization_id, workspace_id } = await workspace();
    const email = `ada-${crypto.randomUUID()}@acme.test`;
    const named = subject === undefined ? {} : { oidc_subject: subject };
    const { id: user_id } = await createUser(db, { organization_id, email, ...named });
    await setMembership(db, { user_id, workspace_id, role: "editor" });
    return { organization_id, workspace_id, email, user_id };
  }

  test("is found by subject and acts with the role of the membership", async () => {
    const subject = crypto.randomUUID();
    const { user_id, email: _, ...ids } = await ada(subject);
    const found = await findUser(db, { subject, email: null }, null);
    expect(found && chooseWorkspace(found, null)).toMatchObject({
      ...ids,
      role: "editor",
      actor: { type: "user", user_id },
    });
  });

  test("is found by email until a subject is bound to it", async () => {
    const unbound = await ada();
    const bound = await ada(crypto.randomUUID());
    const identity = { subject: "new", email: unbound.email.toUpperCase() };
    expect(await findUser(db, identity, null)).not.toBeNull();
    expect(await findUser(db, { subject: "other", email: bound.email }, null)).toBeNull();
  });

  test("chooses among several workspaces by tenant", async () => {
    const { email, organization_id, user_id, workspace_id } = await ada();
    const second = await createWorkspace(db, { organization_id, name: "second" });
    await setMembership(db, { user_id, workspace_id: second.id, role: "admin" });
    const identity = { subject: "x", email };
    const unnamed = await findUser(db, identity, null);
    expect(() => unnamed && chooseWorkspace(unnamed, null)).toThrow(
      "requires workspace specification",
    );
    for (const tenant of [workspace_id, second.id]) {
      const found = await findUser(db, identity, tenant);
      expect(found && chooseWorkspace(found, tenant).workspace_id).toBe(tenant);
    }
    const foreign = (await workspace()).workspace_id;
    const found = await findUser(db, identity, foreign);
    expect(() => found && chooseWorkspace(found, foreign)).toThrow("no access to workspace");
  });
});
