import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { database } from "../../src/shared/context.ts";
import { createUser, setMembership } from "../support/organizations.ts";
import { workspace } from "../support/workspace.ts";

const ISSUER = "https://login.example.com";
const { publicKey, privateKey } = await generateKeyPair("ES256");
const app = createApp();
const subject = crypto.randomUUID();

beforeAll(async () => {
  const db = database(env);
  const { organization_id, workspace_id } = await workspace();
  const email = `${subject}@acme.test`;
  const { id } = await createUser(db, { organization_id, email, oidc_subject: subject });
  await setMembership(db, { user_id: id, workspace_id, role: "editor" });
});

beforeEach(() => {
  const real = globalThis.fetch;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const url = new Request(input, init).url;
    if (url.endsWith("/.well-known/openid-configuration")) {
      return Response.json({ issuer: ISSUER, jwks_uri: `${ISSUER}/keys` });
    }
    if (url !== `${ISSUER}/keys`) return real(input, init);
    return Response.json({ keys: [{ ...(await exportJWK(publicKey)), kid: "k1", alg: "ES256" }] });
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

function token(audience: string): Promise<string> {
  return new SignJWT({ sub: subject })
    .setProtectedHeader({ alg: "ES256", kid: "k1" })
    .setIssuer(ISSUER)
    .setAudience(audience)
    .setExpirationTime("5m")
    .sign(privateKey);
}

async function call(path: string, OIDC_AUDIENCE: string, audience = "heddle") {
  const headers = { Authorization: `Bearer ${await token(audience)}` };
  const request = new Request(`https://heddle.test${path}`, { headers });
  const configured = { ...env, OIDC_ISSUER: ISSUER, OIDC_AUDIENCE };
  const response = await app.fetch(request, configured, createExecutionContext());
  return { status: response.status, text: await response.text() };
}

test("a token of the issuer for this installation opens the control plane", async () => {
  expect((await call("/v2/deployments", "heddle")).status).toBe(200);
});

test("a token of the issuer for another application is a 401", async () => {
  const { status, text } = await call("/v2/deployments", "heddle", "another-application");
  expect([status, text]).toEqual([401, expect.stringContaining("aud")]);
});

test.each(["/ok", "/v2/deployments", "/agents/x/ok"])(
  "%s is a 503 that names OIDC_AUDIENCE while there is an issuer and no audience",
  async (path) => {
    const { status, text } = await call(path, "", "another-application");
    expect([status, text]).toEqual([503, expect.stringContaining("OIDC_AUDIENCE")]);
  },
);
