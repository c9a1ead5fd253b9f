import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { type Person, sealSession } from "../../src/control-plane/workspaces/session-token.ts";
import { database, type Role } from "../../src/shared/context.ts";
import { createUser, setMembership } from "./organizations.ts";
import { api, type TestWorkspace } from "./workspace.ts";

/** Headers of the console's own requests. */
export const OWN_PAGE = { "Sec-Fetch-Site": "same-origin", "X-Heddle-Console": "1" };

/** Signs in with a key. @returns the cookie */
export async function signIn(api_key: string): Promise<string> {
  const response = await api("/v1/session", { json: { api_key } });
  expect(response.status).toBe(200);
  return (response.headers.get("Set-Cookie") ?? "").split(";")[0] ?? "";
}

/** The cookie of a person who has signed in with the issuer. */
export async function sessionOf(person: Person): Promise<string> {
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  return `__Host-heddle=${await sealSession(env, { principal: person, expires_at })}`;
}

/** A person who is a member of a workspace with an address that is not the one of the session. */
export async function memberWithSession(
  { organization_id, workspace_id }: Pick<TestWorkspace, "organization_id" | "workspace_id">,
  role: Role,
  email = `${crypto.randomUUID()}@acme.test`,
) {
  const subject = crypto.randomUUID();
  const old_email = `${subject}@old.test`;
  const db = database(env);
  const user = await createUser(db, { organization_id, email: old_email, oidc_subject: subject });
  await setMembership(db, { user_id: user.id, workspace_id, role });
  const headers = { ...OWN_PAGE, Cookie: await sessionOf({ subject, email }) };
  return { user_id: user.id, subject, email, old_email, headers };
}
