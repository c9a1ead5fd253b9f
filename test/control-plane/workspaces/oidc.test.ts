import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createApp } from "../../../src/app.ts";
import { database } from "../../../src/shared/context.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { createUser, setMembership } from "../../support/organizations.ts";
import { workspace } from "../../support/workspace.ts";

const ISSUER = "https://login.example.com";
const { publicKey, privateKey } = await generateKeyPair("ES256");
const app = createApp();
const subject = crypto.randomUUID();
let workspace_id: string;

beforeAll(async () => {
  const db = database(env);
  const { organization_id, ...own } = await workspace();
  workspace_id = own.workspace_id;
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
  vi.useRealTimers();
});

type Sent = { json?: object; OIDC_AUDIENCE?: string };

function token(audience: string, lifetime = "5m"): Promise<string> {
  return new SignJWT({ sub: subject })
    .setProtectedHeader({ alg: "ES256", kid: "k1" })
    .setIssuer(ISSUER)
    .setAudience(audience)
    .setExpirationTime(lifetime)
    .sign(privateKey);
}

async function send(bearer: string, path: string, { json, OIDC_AUDIENCE = "heddle" }: Sent = {}) {
  const headers = { Authorization: `Bearer ${bearer}`, "Content-Type": "application/json" };
  const body = json === undefined ? {} : { method: "POST", body: JSON.stringify(json) };
  const request = new Request(`https://heddle.test${path}`, { headers, ...body });
  const configured = { ...env, OIDC_ISSUER: ISSUER, OIDC_AUDIENCE };
  return app.fetch(request, configured, createExecutionContext());
}

async function call(path: string, OIDC_AUDIENCE: string, audience = "heddle") {
  const response = await send(await token(audience), path, { OIDC_AUDIENCE });
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

test("a stream ends with the token that opened it, and not with another one of the user", async () => {
  const { deployment_id } = await testDeployment(workspace_id);
  const threads = `/agents/${deployment_id}/threads`;
  const long = await token("heddle", "1h");
  const created = await send(long, threads, { json: {} });
  const { thread_id } = await created.json<{ thread_id: string }>();
  const stream = `${threads}/${thread_id}/stream`;
  const [own, other] = await Promise.all([send(await token("heddle"), stream), send(long, stream)]);
  expect([own.status, other.status]).toEqual([200, 200]);
  const ended = (response: Response) => response.text().then(String, () => "ended");
  const otherEnd = ended(other);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 6 * 60_000 });
  expect(await ended(own)).toBe("ended");
  expect(await Promise.race([otherEnd, Promise.resolve("open")])).toBe("open");
});
