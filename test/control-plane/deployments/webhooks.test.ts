import { env } from "cloudflare:workers";
import { createHmac } from "node:crypto";
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, test, vi } from "vitest";
import {
  isHostOf,
  kindOf,
  statusRequest,
} from "../../../src/control-plane/deployments/git/git-host.ts";
import { concerns, readPush } from "../../../src/control-plane/deployments/git/pushes.ts";
import { claimBuild } from "../../../src/control-plane/deployments/rollout/build-claim-service.ts";
import { sweepDeliveries } from "../../../src/control-plane/deployments/rollout/sweep.ts";
import {
  deployments,
  revisions,
  webhook_deliveries,
} from "../../../src/control-plane/deployments/table.ts";
import { database } from "../../../src/shared/context.ts";
import { deploymentRow } from "../../support/deployment.ts";
import { holdBuilds } from "../../support/held-builds.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

holdBuilds();

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});

const db = database(env);
const COMMIT = "c".repeat(40);
const REPO_URL = "http://127.0.0.1:9/acme/agent.git";
const PUSH = {
  ref: "refs/heads/main",
  after: COMMIT,
  repository: { clone_url: REPO_URL, html_url: "http://127.0.0.1:9/acme/agent" },
  commits: [
    { id: "b".repeat(40), message: "Before", timestamp: "2026-11-20T11:00:00Z" },
    { id: COMMIT, message: "Ask first\n\nRefunds.", timestamp: "2026-11-20T12:00:00+01:00" },
  ],
};

async function integration() {
  const created = await api("/v1/integrations/github/install", {
    key: ours.editor,
    json: {
      name: `main-${crypto.randomUUID()}`,
      token: "t",
      api_url: "http://127.0.0.1:9/api/v1",
    },
  });
  const { id } = await created.json<{ id: string }>();
  const answer = await api(`/v1/integrations/github/${id}/webhook`, { key: ours.editor });
  expect(answer.status).toBe(200);
  const { url, secret } = await answer.json<{ url: string; secret: string }>();
  expect(url).toBe(`https://heddle.test/webhooks/${id}`);
  let deliveries = 0;
  const send = async (body: unknown, headers: Record<string, string> = {}) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const signature = createHmac("sha256", secret).update(text).digest("hex");
    deliveries += 1;
    const response = await api(`/webhooks/${id}`, {
      method: "POST",
      body: text,
      headers: {
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": `delivery-${deliveries}`,
        "X-Hub-Signature-256": `sha256=${signature}`,
        ...headers,
      },
    });
    const answered = await response.text();
    return { status: response.status, text: answered, body: JSON.parse(answered) };
  };
  const deployed = (
    fields: { build_on_push?: boolean; repo_url?: string; repo_ref?: string } = {},
  ) => {
    const { build_on_push = true, repo_url = REPO_URL, repo_ref = "main" } = fields;
    return deploymentRow(ours.workspace_id, {
      source_config: { integration_id: id, repo_url, build_on_push, deployment_type: "dev" },
      source_revision_config: { repo_ref, langgraph_config_path: "langgraph.json" },
    });
  };
  return { id, secret, send, deployed };
}

describe("a push", () => {
  test("builds each deployment of the repository and the branch that is built on push", async () => {
    const { send, deployed } = await integration();
    const wanted = [await deployed(), await deployed({ repo_ref: "refs/heads/main" })];
    await deployed({ build_on_push: false });
    await deployed({ repo_ref: "next" });
    await deployed({ repo_url: "http://127.0.0.1:9/acme/other.git" });
    await (await integration()).deployed();
    const answer = await send(PUSH);
    expect(answer.status).toBe(200);
    const made = await Promise.all(
      answer.body.revisions.map(async (id: string) => {
        const [row] = await db.select().from(revisions).where(eq(revisions.id, id));
        return row;
      }),
    );
    expect(made.map(({ deployment_id }) => deployment_id).sort()).toEqual(
      wanted.map(({ id }) => id).sort(),
    );
    for (const row of made) {
      expect(row).toMatchObject({
        repo_commit_sha: COMMIT,
        repo_commit_message: "Ask first",
        repo_commit_authored_at: "2026-11-20T11:00:00.000Z",
        trigger: "push",
        status: "AWAITING_BUILD",
      });
      const response = await api(`/v2/deployments/${row.deployment_id}`, { key: ours.viewer });
      expect(await response.json()).toMatchObject({ latest_revision_id: row.id });
    }
  });

  test("that no deployment wanted is built when it is delivered again", async () => {
    const { send, deployed } = await integration();
    const delivery = { "X-GitHub-Delivery": "too-early" };
    expect((await send(PUSH, delivery)).body).toMatchObject({ revisions: [] });
    await deployed();
    expect((await send(PUSH, delivery)).body.revisions).toHaveLength(1);
  });

  test("is built once, however often it is delivered, also at the same time", async () => {
    const { send, deployed } = await integration();
    await deployed();
    const delivery = { "X-GitHub-Delivery": "the-same" };
    const both = await Promise.all([send(PUSH, delivery), send(PUSH, delivery)]);
    expect(both.map(({ body }) => body.revisions.length).sort()).toEqual([0, 1]);
    expect((await send(PUSH, delivery)).body).toEqual({
      revisions: [],
      detail: "Ignored: this delivery was received before.",
    });
  });

  test("builds the others when the deletion of a deployment begins before it is written", async () => {
    const { send, deployed } = await integration();
    const [kept, deleted] = [await deployed(), await deployed()];
    const batch = env.DB.batch.bind(env.DB);
    const write = vi.spyOn(env.DB, "batch").mockImplementation(async (statements) => {
      const isDeleted = eq(deployments.id, deleted.id);
      await db.update(deployments).set({ status: "AWAITING_DELETE" }).where(isDeleted);
      return batch(statements);
    });
    const answer = await send(PUSH).finally(() => write.mockRestore());
    expect([answer.status, answer.body.revisions]).toEqual([200, [expect.any(String)]]);
    const [row] = await db
      .select()
      .from(revisions)
      .where(eq(revisions.id, answer.body.revisions[0]));
    expect(row?.deployment_id).toBe(kept.id);
  });

  test("of GitLab is deduplicated by the id that stays through redeliveries", async () => {
    const { id, secret, deployed } = await integration();
    await deployed();
    const send = async (key: string, uuid: string) => {
      const response = await api(`/webhooks/${id}`, {
        method: "POST",
        body: JSON.stringify(PUSH),
        headers: {
          "X-Gitlab-Event": "Push Hook",
          "X-Gitlab-Token": secret,
          "Idempotency-Key": key,
          "X-Gitlab-Event-UUID": uuid,
        },
      });
      return (await response.json<{ revisions: string[] }>()).revisions.length;
    };
    // A push caused by one of the host's webhooks has the UUID of the first.
    expect([await send("one", "chain"), await send("two", "chain")]).toEqual([1, 1]);
    expect(await send("one", "another")).toBe(0);
  });

  test("that is overtaken by the next is skipped", async () => {
    const { send, deployed } = await integration();
    await deployed();
    const [first, second] = [await send(PUSH), await send({ ...PUSH, after: "d".repeat(40) })];
    expect(await claimBuild(env, first.body.revisions[0], new Date())).toBeNull();
    expect(await claimBuild(env, second.body.revisions[0], new Date())).not.toBeNull();
    const [row] = await db
      .select()
      .from(revisions)
      .where(eq(revisions.id, first.body.revisions[0]));
    expect(row).toMatchObject({ status: "SKIPPED", status_reason: "overtaken" });
  });

  test.each(["gitea", "gitlab"])("may come from %s", async (host) => {
    const { id, secret, deployed } = await integration();
    await deployed();
    const body = JSON.stringify(
      host === "gitea" ? PUSH : { ...PUSH, repository: {}, project: { git_http_url: REPO_URL } },
    );
    const signature = createHmac("sha256", secret).update(body).digest("hex");
    const headers = {
      gitea: { "X-Gitea-Event": "push", "X-Gitea-Delivery": "1", "X-Gitea-Signature": signature },
      gitlab: {
        "X-Gitlab-Event": "Push Hook",
        "X-Gitlab-Event-UUID": "1",
        "X-Gitlab-Token": secret,
      },
    }[host] as unknown as Record<string, string>;
    const send = (headers: Record<string, string>) =>
      api(`/webhooks/${id}`, { method: "POST", body, headers });
    const answer = await send(headers);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ revisions: [expect.any(String)] });
    const wrong = { "X-Gitea-Signature": "0".repeat(64), "X-Gitlab-Token": `${secret}0` };
    const changed = Object.entries(wrong).filter(([name]) => name in headers);
    expect((await send({ ...headers, ...Object.fromEntries(changed) })).status).toBe(401);
  });
});

describe("an event other than a push of a branch", () => {
  test.each([
    ["a ping", { zen: "x" }, { "X-GitHub-Event": "ping" }],
    ["a tag", { ...PUSH, ref: "refs/tags/v1" }, {}],
    ["a deleted branch", { ...PUSH, after: "0".repeat(40) }, {}],
    ["something else", [], {}],
  ])("%s is understood and builds nothing", async (_what, body, headers) => {
    const { send, deployed } = await integration();
    await deployed();
    const answer = await send(body, headers as Record<string, string>);
    expect([answer.status, answer.body.revisions]).toEqual([200, []]);
  });

  test("a form is refused, and the error names application/json", async () => {
    const { send } = await integration();
    const answer = await send("payload=%7B%7D");
    expect(answer.status).toBe(400);
    expect(answer.text).toContain("application/json");
  });

  test.each([
    ["a wrong signature", { "X-Hub-Signature-256": `sha256=${"0".repeat(64)}` }],
    ["a signature that is no hex", { "X-Hub-Signature-256": "sha256=x" }],
    ["a signature of another integration", null],
  ])("%s is refused", async (_what, headers) => {
    const { send } = await integration();
    const other = (await integration()).secret;
    const signature = createHmac("sha256", other).update(JSON.stringify(PUSH)).digest("hex");
    const answer = await send(PUSH, headers ?? { "X-Hub-Signature-256": `sha256=${signature}` });
    expect(answer.status).toBe(401);
    expect(answer.text).toContain("signature does not match");
  });
});

test("a webhook's secret can be read only by callers who may change its integration", async () => {
  const { id } = await integration();
  const theirs = await workspace();
  const call = (path: string, key?: string) =>
    api(`/v1/integrations/github/${id}/${path}`, { ...(key !== undefined && { key }) });
  expect((await call("webhook")).status).toBe(401);
  expect((await call("webhook", ours.viewer)).status).toBe(403);
  expect((await call("webhook", theirs.admin)).status).toBe(404);
  expect((await call("repos")).status).toBe(401);
  expect((await call("repos", theirs.admin)).status).toBe(404);
});

test("deliveries are remembered for a month", async () => {
  const row = { integration_id: "i", workspace_id: ours.workspace_id };
  const at = (day: string) => `2026-${day}T00:00:00.000Z`;
  await db.insert(webhook_deliveries).values([
    { ...row, delivery_id: "old", created_at: at("10-20") },
    { ...row, delivery_id: "new", created_at: at("10-22") },
  ]);
  await sweepDeliveries(env, new Date(at("11-20")));
  const left = await db
    .select()
    .from(webhook_deliveries)
    .where(eq(webhook_deliveries.integration_id, "i"));
  expect(left.map(({ delivery_id }) => delivery_id)).toEqual(["new"]);
});

test.each([
  ["https://127.0.0.1:9/ACME/agent/", "main", true],
  ["http://127.0.0.1:9/acme/agent", "refs/heads/main", true],
  ["https://127.0.0.1:9/acme/agents", "main", false],
  ["https://127.0.0.1:9/acme/agent", "mai", false],
])("a push to acme/agent main and %s at %s: %s", (repo_url, repo_ref, expected) => {
  const push = readPush(PUSH);
  if (!push) throw new Error("It is a push");
  expect(concerns(push, repo_url, repo_ref)).toBe(expected);
});

test.each([
  [
    "https://api.github.com",
    "github",
    "/repos/acme/agent/statuses/s",
    { state: "failure", context: "heddle/a" },
  ],
  [
    "https://git.test/api/v1/",
    "gitea",
    "/repos/acme/agent/statuses/s",
    { state: "failure", context: "heddle/a" },
  ],
  [
    "https://git.test/api/v4",
    "gitlab",
    "/projects/acme%2Fagent/statuses/s",
    { state: "failed", name: "heddle/a" },
  ],
])("a commit's status at %s", (api_url, kind, path, body) => {
  const status = {
    name: "a",
    sha: "s",
    repo_url: REPO_URL,
    status: "BUILD_FAILED" as const,
    description: `${"x".repeat(139)}\u{1f600}`,
    target_url: null,
  };
  expect(kindOf(api_url)).toBe(kind);
  const request = statusRequest(api_url, status);
  expect(request.path).toBe(path);
  expect(request.body).toEqual({ ...body, description: `${"x".repeat(139)}\ufffd` });
});

test.each([
  ["https://example.com/git/api/v1/", "/repos/acme/agent/statuses/s"],
  ["https://example.com/git/api/v4", "/projects/acme%2Fagent/statuses/s"],
  ["https://example.com/api/v1", "/repos/git/acme/agent/statuses/s"],
])("a commit's status at the host of %s, which may be below a path", (api_url, path) => {
  const repo_url = "https://example.com/git/acme/agent.git";
  const status = { name: "a", sha: "s", repo_url, status: "DEPLOYED" as const };
  expect(statusRequest(api_url, { ...status, description: "", target_url: null }).path).toBe(path);
});

test.each([
  ["https://api.github.com", "https://github.com/acme/agent", true],
  ["https://git.test/api/v1", "https://git.test/acme/agent", true],
  ["https://git.test/api/v1", "https://git.test:8443/acme/agent", false],
  ["https://git.test/api/v1", "http://git.test/acme/agent", false],
  ["http://git.test/api/v1", "http://git.test/acme/agent", true],
])("the token of %s is sent to %s: %s", (api_url, repo_url, isSent) => {
  expect(isHostOf(api_url, repo_url)).toBe(isSent);
});

test.each([
  [{ name: "a" }, "either token or app"],
  [
    { name: "a", token: "t", app: { app_id: "1", installation_id: 1, private_key: "k" } },
    "either token or app",
  ],
  [
    { name: "a", app: { app_id: "1", installation_id: 1, private_key: "k" } },
    "must be an RSA private key",
  ],
])("%j is refused as an integration", async (json, text) => {
  const response = await api("/v1/integrations/github/install", { key: ours.editor, json });
  expect(response.status).toBe(422);
  expect(await response.text()).toContain(text);
});
