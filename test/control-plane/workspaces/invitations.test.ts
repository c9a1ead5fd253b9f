import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { chooseWorkspace } from "../../../src/control-plane/workspaces/access.ts";
import type { AuditLogsList } from "../../../src/control-plane/workspaces/audit/audit-schema.ts";
import { findSubject, findUser } from "../../../src/control-plane/workspaces/credentials.ts";
import type { InvitationList } from "../../../src/control-plane/workspaces/invitations/invitation-schema.ts";
import type { Me } from "../../../src/control-plane/workspaces/session/session-schema.ts";
import { database } from "../../../src/shared/context.ts";
import { createApiKey } from "../../support/organizations.ts";
import { memberWithSession } from "../../support/sessions.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

const db = database(env);
const ORGANIZATION_ADMIN = { kind: "service", workspace_id: null, role: "admin" } as const;
const MEMBERS = "/api/v1/workspaces/current/members";

let ours: TestWorkspace;
let stranger: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
  // Its workspace is newer, which put it first.
  stranger = await workspace();
});

/** A person with a session, who is a member of our workspace with another address. */
async function person() {
  const member = await memberWithSession(ours, "editor");
  const { headers } = member;
  const call = (path: string, method = "GET", tenant?: string) =>
    api(path, { headers, method, ...(tenant !== undefined && { tenant }) });
  const me = async () => (await call("/v1/me")).json<Me>();
  const invitations = async () =>
    (await (await call("/v1/invitations")).json<InvitationList>()).invitations;
  return { ...member, call, me, invitations };
}

function invite(email: string, by = stranger) {
  return api(MEMBERS, { key: by.admin, json: { email, role: "viewer" } });
}

describe("an invitation by a stranger", () => {
  test("changes nothing until it is accepted", async () => {
    const { email, subject, call, me } = await person();
    const before = await me();
    expect((await invite(email)).status).toBe(200);
    expect(await me()).toEqual(before);
    expect((await call("/v2/deployments")).status).toBe(200);
    expect((await call("/v2/deployments", "GET", stranger.workspace_id)).status).toBe(403);
    const found = await findUser(db, { subject, email }, null);
    expect(found && chooseWorkspace(found, null).workspace_id).toBe(ours.workspace_id);
  });

  test("answers the same for known and unknown people", async () => {
    const { email } = await person();
    const [known, unknown] = await Promise.all([
      invite(email),
      invite(`${crypto.randomUUID()}@acme.test`),
    ]);
    const fieldsOf = async (answer: Response) => Object.keys(await answer.json<object>());
    expect([known.status, await fieldsOf(known)]).toEqual([
      unknown.status,
      await fieldsOf(unknown),
    ]);
    const listed = await (await api(MEMBERS, { key: stranger.admin })).json<{
      members: { email: string }[];
      pending: { email: string }[];
    }>();
    expect(listed.pending.map((one) => one.email)).toContain(email);
    expect(listed.members.map((one) => one.email)).not.toContain(email);
  });

  test("opens the workspace when it is accepted, where the person is another user", async () => {
    const { email, subject, user_id, call, me, invitations } = await person();
    await invite(email);
    const [invitation] = await invitations();
    expect(invitation).toMatchObject({
      organization: { id: stranger.organization_id },
      workspaces: [{ id: stranger.workspace_id, role: "viewer" }],
    });
    const accept = `/v1/invitations/${invitation?.id}/accept`;
    expect((await call(accept, "POST")).status).toBe(204);
    expect(await invitations()).toEqual([]);
    const { workspaces, organizations } = await me();
    expect(workspaces.map(({ id }) => id).sort()).toEqual(
      [ours.workspace_id, stranger.workspace_id].sort(),
    );
    expect(organizations.map(({ id }) => id).sort()).toEqual(
      [ours.organization_id, stranger.organization_id].sort(),
    );
    expect((await call("/v2/deployments", "GET", stranger.workspace_id)).status).toBe(200);
    for (const [tenant, id] of [
      [ours.workspace_id, user_id],
      [stranger.workspace_id, invitation?.id],
    ] as const) {
      const found = await findSubject(db, subject, tenant);
      expect(found && chooseWorkspace(found, tenant).actor).toEqual({ type: "user", user_id: id });
    }
    expect((await call(accept, "POST")).status).toBe(404);
  });

  test("is deleted when it is declined, and may be repeated", async () => {
    const { email, call, invitations } = await person();
    await invite(email);
    const [invitation] = await invitations();
    expect((await call(`/v1/invitations/${invitation?.id}`, "DELETE")).status).toBe(204);
    expect(await invitations()).toEqual([]);
    await invite(email);
    expect(await invitations()).toHaveLength(1);
  });

  test("is accepted or declined by the invited person only", async () => {
    const [invited, other] = [await person(), await person()];
    await invite(invited.email);
    const [invitation] = await invited.invitations();
    expect(await other.invitations()).toEqual([]);
    for (const [path, method] of [
      [`/v1/invitations/${invitation?.id}/accept`, "POST"],
      [`/v1/invitations/${invitation?.id}`, "DELETE"],
    ] as const) {
      expect((await other.call(path, method)).status).toBe(404);
      expect((await api(path, { key: ours.admin, method })).status).toBe(403);
    }
  });
});

test("an invitation of an address is not for its former holder", async () => {
  const { old_email, user_id, call, invitations } = await person();
  await invite(old_email);
  expect(await invitations()).toEqual([]);
  const { results } = await env.DB.prepare("SELECT id FROM users WHERE email = ? AND id <> ?")
    .bind(old_email, user_id)
    .all<{ id: string }>();
  expect(results).toHaveLength(1);
  const path = `/v1/invitations/${results[0]?.id}`;
  expect((await call(`${path}/accept`, "POST")).status).toBe(404);
  expect((await call(path, "DELETE")).status).toBe(404);
});

describe("a person", () => {
  test("accepts the oldest invitation by the first token, and no other one", async () => {
    const [subject, email] = [crypto.randomUUID(), `${crypto.randomUUID()}@acme.test`];
    await invite(email, ours);
    await invite(email, stranger);
    const found = await findUser(db, { subject, email }, null);
    expect(found?.reaches.map(({ workspace_id }) => workspace_id)).toEqual([ours.workspace_id]);
  });

  test("accepts one invitation by requests at the same moment", async () => {
    const [subject, email] = [crypto.randomUUID(), `${crypto.randomUUID()}@acme.test`];
    await invite(email, ours);
    await invite(email, stranger);
    const found = await Promise.all([1, 2, 3].map(() => findUser(db, { subject, email }, null)));
    for (const each of found)
      expect(each?.reaches.map(({ workspace_id }) => workspace_id)).toEqual([ours.workspace_id]);
  });

  test("without a workspace accepts the oldest invitation of another organization", async () => {
    const { subject, email, user_id } = await person();
    await invite(email, ours);
    await invite(email, stranger);
    await api(`${MEMBERS}/${user_id}`, { key: ours.admin, method: "DELETE" });
    const named = await findUser(db, { subject, email }, ours.workspace_id);
    expect(named?.reaches.map(({ workspace_id }) => workspace_id)).toEqual([null]);
    const found = await findUser(db, { subject, email }, null);
    expect(found && chooseWorkspace(found, null).workspace_id).toBe(stranger.workspace_id);
  });

  test("does not accept an invitation that was withdrawn", async () => {
    const [subject, email] = [crypto.randomUUID(), `${crypto.randomUUID()}@acme.test`];
    await invite(email, ours);
    const user = await env.DB.prepare("SELECT id FROM users WHERE email = ?")
      .bind(email)
      .first("id");
    await api(`${MEMBERS}/${user}`, { key: ours.admin, method: "DELETE" });
    expect(await findUser(db, { subject, email }, null)).toBeNull();
    await invite(email, stranger);
    const found = await findUser(db, { subject, email }, null);
    expect(found?.reaches.map(({ workspace_id }) => workspace_id)).toEqual([stranger.workspace_id]);
  });

  test("has its decisions in the audit log of the workspace", async () => {
    const host = await workspace();
    const { email, user_id, call, invitations } = await person();
    const decide = async (change: (id: string) => Promise<Response>) => {
      await invite(email, host);
      const [invitation] = await invitations();
      expect((await change(invitation?.id ?? "")).status).toBe(204);
      return invitation?.id ?? "";
    };
    const declined = await decide((id) => call(`/v1/invitations/${id}`, "DELETE"));
    const accepted = await decide((id) => call(`/v1/invitations/${id}/accept`, "POST"));
    const left = await call(`/v1/me/organizations/${host.organization_id}`, "DELETE");
    expect(left.status).toBe(204);
    const { resources } = await (await api("/v1/audit-logs", { key: host.admin })).json<{
      resources: { action: string; user_id: string | null; resources: { id: string }[] }[];
    }>();
    const made = resources.filter(({ user_id }) => user_id !== null);
    expect(made.map(({ action, user_id }) => [action, user_id])).toEqual([
      ["leaveOrganization", accepted],
      ["acceptInvitation", accepted],
      ["declineInvitation", declined],
    ]);
    expect(user_id).not.toBe(accepted);
  });

  test("has the acceptance by a sign-in in the audit log of the workspace", async () => {
    const host = await workspace();
    const [subject, email] = [crypto.randomUUID(), `${crypto.randomUUID()}@acme.test`];
    await invite(email, host);
    for (const _signIn of [1, 2]) await findUser(db, { subject, email }, null);
    const path = "/v1/audit-logs?action=acceptInvitation";
    const { resources } = await (await api(path, { key: host.admin })).json<AuditLogsList>();
    const found = await findSubject(db, subject, null);
    const { actor } = found ?? {};
    const user_id = actor?.type === "user" ? actor.user_id : null;
    expect(resources).toMatchObject([
      { user_id, actor_name: email, resources: [{ name: "invitation_id", id: user_id }] },
    ]);
  });

  test("leaves an organization, and has no session without one", async () => {
    const { call } = await person();
    const path = `/v1/me/organizations/${ours.organization_id}`;
    expect((await call(path, "DELETE")).status).toBe(204);
    expect((await call("/v1/me")).status).toBe(401);
    expect((await call("/v2/deployments")).status).toBe(401);
  });

  test("leaves an organization as the admin of many workspaces", async () => {
    const { user_id, call } = await person();
    const { organization_id } = ours;
    await env.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
       INSERT INTO workspaces (id, organization_id, name, created_at)
       SELECT ?1 || '-' || i, ?2, 'w' || i, '2026' FROM n`,
    )
      .bind(user_id, organization_id)
      .run();
    await env.DB.prepare(
      "INSERT INTO memberships (user_id, workspace_id, role) SELECT ?1, id, 'admin' FROM workspaces WHERE id LIKE ?1 || '-%'",
    )
      .bind(user_id)
      .run();
    const path = `/v1/me/organizations/${organization_id}`;
    expect((await call(path, "DELETE")).status).toBe(409);
    await createApiKey(db, { ...ORGANIZATION_ADMIN, organization_id });
    expect((await call(path, "DELETE")).status).toBe(204);
  });

  test("the last admin of a workspace cannot leave", async () => {
    const alone = await workspace();
    const { organization_id } = alone;
    const { headers } = await memberWithSession(alone, "admin");
    await env.DB.prepare("UPDATE api_keys SET revoked_at = '2026' WHERE organization_id = ?")
      .bind(organization_id)
      .run();
    const path = `/v1/me/organizations/${organization_id}`;
    expect((await api(path, { headers, method: "DELETE" })).status).toBe(409);
    expect((await api("/v1/me", { headers })).status).toBe(200);
  });

  test("whose membership ends has no session", async () => {
    const { user_id, call } = await person();
    expect((await call("/v1/me")).status).toBe(200);
    await api(`${MEMBERS}/${user_id}`, { key: ours.admin, method: "DELETE" });
    expect((await call("/v1/me")).status).toBe(401);
  });
});
