import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { issuerKeys, verifyJwt } from "../../src/control-plane/workspaces/jwt.ts";

const { publicKey, privateKey } = await generateKeyPair("RS256");
let server: Server;
let issuer: string;
const requests: string[] = [];
let keys_path: string | null = "/keys";

beforeAll(async () => {
  const jwk = { ...(await exportJWK(publicKey)), kid: "k1", alg: "RS256" };
  server = createServer((request, response) => {
    requests.push(request.url ?? "");
    const answers: Record<string, unknown> = {
      ...(keys_path && {
        "/.well-known/openid-configuration": { issuer, jwks_uri: issuer + keys_path },
        [keys_path]: { keys: [jwk] },
      }),
    };
    const answer = answers[request.url ?? ""];
    response.statusCode = answer === undefined ? 404 : 200;
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify(answer ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.close();
  server.closeAllConnections();
});

test("an issuer's keys are found by discovery and fetched once", async () => {
  for (const sub of ["ada", "grace"]) {
    const token = await new SignJWT({ sub })
      .setProtectedHeader({ alg: "RS256", kid: "k1" })
      .setIssuer(issuer)
      .setAudience("heddle")
      .setExpirationTime("5m")
      .sign(privateKey);
    const keys = await issuerKeys(issuer);
    expect((await verifyJwt(token, { issuer, audience: "heddle", keys })).subject).toBe(sub);
  }
  expect(requests).toEqual(["/.well-known/openid-configuration", "/keys"]);
});

test("an issuer's keys are found where it moves them, and stay known while it is down", async () => {
  const token = await new SignJWT({ sub: "ada" })
    .setProtectedHeader({ alg: "RS256", kid: "k1" })
    .setIssuer(issuer)
    .setAudience("heddle")
    .setExpirationTime("5m")
    .sign(privateKey);
  const minutes = (n: number) => Date.now() + n * 60_000;
  keys_path = "/moved";
  requests.splice(0);
  await issuerKeys(issuer, minutes(5));
  expect(requests).toEqual([]);
  const keys = await issuerKeys(issuer, minutes(11));
  expect((await verifyJwt(token, { issuer, audience: "heddle", keys })).subject).toBe("ada");
  expect(requests).toEqual(["/.well-known/openid-configuration", "/moved"]);
  keys_path = null;
  expect(await issuerKeys(issuer, minutes(22))).toBe(keys);
  expect(requests).toHaveLength(3);
});

test("an issuer that does not answer as one is a 503, and is not called for each request", async () => {
  const failure = () => issuerKeys(`${issuer}/elsewhere`);
  requests.splice(0);
  for (let n = 0; n < 5; n++)
    await expect(failure()).rejects.toMatchObject({ code: "unavailable" });
  expect(requests).toEqual(["/elsewhere/.well-known/openid-configuration"]);
});
