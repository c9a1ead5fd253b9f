import { expect, test } from "vitest";
import { withoutWorkspaceCredentials } from "../../../src/agent-server/access/request.ts";
import { assertNoSession } from "../../../src/control-plane/workspaces/session-token.ts";
import { encodeBytes } from "../../../src/shared/crypto/encoding.ts";
import { withCredential } from "../../../src/shared/http/sockets.ts";

const ISSUER = "https://issuer.test";
const KEY = `lsv2_sk_${"a".repeat(40)}`;

const base64url = (text: string) => encodeBytes(new TextEncoder().encode(text), "base64url");
const tokenOf = (iss: string) => `e30.${base64url(JSON.stringify({ iss }))}.c2ln`;

const shownOf = (headers: Record<string, string>) =>
  Object.fromEntries(
    withoutWorkspaceCredentials(new Headers({ ...headers, accept: "*/*" }), ISSUER),
  );

test.each([
  { "x-api-key": KEY },
  { "x-api-key": tokenOf(ISSUER) },
  { authorization: `Bearer ${KEY}` },
  { authorization: `bearer%20${KEY}` },
  { authorization: `Bearer ${tokenOf(ISSUER)}` },
  { authorization: `Bearer%20${tokenOf(ISSUER)}` },
  { authorization: `Bearer ${tokenOf(ISSUER)}`, "x-api-key": KEY },
])("the agent's code sees no credential of the workspace: %o", (headers) => {
  expect(shownOf(headers as Record<string, string>)).toEqual({ accept: "*/*" });
});

test.each([
  { "x-api-key": "own" },
  { authorization: `Bearer ${tokenOf("https://other.test")}` },
  { authorization: "Basic b3duOm93bg==" },
])("the agent's code sees credentials of its users: %o", (headers) => {
  const given = headers as Record<string, string>;
  expect(shownOf(given)).toEqual({ ...given, accept: "*/*" });
});

test("a socket's credential becomes a header, and its subprotocol is gone", () => {
  const names = `heddle, heddle.auth.${base64url(KEY)}`;
  const withNames = (headers: Record<string, string>) =>
    withCredential(
      new Request("https://heddle.test", {
        headers: { ...headers, "Sec-WebSocket-Protocol": names },
      }),
    ).headers;
  const alone = withNames({});
  expect(alone.get("Authorization")).toBe(`Bearer ${KEY}`);
  expect(alone.get("Sec-WebSocket-Protocol")).toBe("heddle");
  const beside = withNames({ "X-Api-Key": "own" });
  expect([beside.get("X-Api-Key"), beside.get("Authorization")]).toEqual(["own", null]);
  expect(beside.get("Sec-WebSocket-Protocol")).toBe("heddle");
});

test("a session is refused as a key, and a token with the same letters is not", () => {
  for (const value of ["hds_abc", "Bearer hds_abc", "bearer%20hds_abc"]) {
    expect(() => assertNoSession(new Headers({ Authorization: value }))).toThrow("cookie only");
  }
  const token = new Headers({ Authorization: "Bearer eyJh.eyJhds_x.chds_y" });
  expect(() => assertNoSession(token)).not.toThrow();
});
