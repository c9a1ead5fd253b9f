import { beforeAll, describe, expect, test } from "vitest";
import { AppError } from "../src/shared/errors.ts";
import { assertAnonymousRate, limitFailures } from "../src/shared/http/rate-limit.ts";
import { testDeployment } from "./support/agent-deployment.ts";
import { agentWithUsers, answerOf } from "./support/agent-users.ts";
import { api, type TestWorkspace, workspace } from "./support/workspace.ts";

const ALLOWED = 6000;
const UNKNOWN_KEY = `lsv2_sk_${"x".repeat(40)}`;

let networks = 0;
/** A network that no other test uses, as the headers of two addresses in it, and one outside of it. */
function network() {
  networks += 1;
  const at = (address: string) => ({ "CF-Connecting-IP": address });
  return {
    one: at(`2001:db8:${networks}::1`),
    two: at(`2001:db8:${networks}:0:ffff::2`),
    other: at(`2001:db8:${networks}:1::1`),
  };
}

function exhaust(headers: Record<string, string>) {
  for (let n = 0; n < ALLOWED; n++) assertAnonymousRate(new Headers(headers));
}

async function failOften(headers: Record<string, string>, scope: string) {
  const refuse = () => Promise.reject(new AppError("unauthenticated", "Invalid API key."));
  for (let n = 0; n < ALLOWED; n++) {
    await limitFailures(new Headers(headers), scope, refuse).catch(() => {});
  }
}

let ours: TestWorkspace;
let app: string;
beforeAll(async () => {
  ours = await workspace();
  const http = { app: "./src/app.ts:app", enable_custom_route_auth: false };
  app = `/agents/${(await testDeployment(ours.workspace_id, { http })).deployment_id}`;
});

const id = crypto.randomUUID();

test("references that name no agent are read until the network has reached its limit", async () => {
  const { one, other } = network();
  const statusAt = async (headers: Record<string, string>) =>
    (await api(`/agents/${crypto.randomUUID()}/threads`, { headers, json: {} })).status;
  exhaust(one);
  expect(await statusAt(one)).toBe(429);
  expect(await statusAt(other)).toBe(401);
});

describe("routes without a caller", () => {
  const routes = () => [
    ["GET", `${app}/custom/who`],
    ["GET", `${app}/docs`],
    ["GET", `${app}/docs/viewer.js`],
    ["GET", `${app}/openapi.json`],
    ["GET", `${app}/ui/x/entrypoint.js`],
    ["POST", `/webhooks/github/${id}`],
    ["PUT", `/uploads/${id}`],
    ["GET", "/v1/health"],
    ["GET", `/v2/auth/callback/${id}?state=x&code=y`],
    ["POST", `/v2/auth/callback/${id}/confirm`],
    ["GET", `/v2/auth/setup/${id}?state=x`],
    ["GET", "/api/v1/feedback/tokens/x"],
    ["POST", "/api/v1/feedback/tokens/x"],
  ];

  test("are limited by the network of the client, and have Retry-After", async () => {
    const { one, two, other } = network();
    exhaust(one);
    for (const [method = "", path = ""] of routes()) {
      for (const headers of [one, two]) {
        const answer = await answerOf(path, { method, headers });
        expect([path, answer.status]).toEqual([path, 429]);
        expect(Number(answer.headers.get("Retry-After")), path).toBeGreaterThan(0);
      }
      expect((await answerOf(path, { method, headers: other })).status, path).not.toBe(429);
    }
  });

  test("include what an agent with users answers to everybody", async () => {
    const { as } = await agentWithUsers();
    const { one, other } = network();
    exhaust(one);
    expect((await as(null)("/info", { headers: one })).status).toBe(429);
    expect((await as(null)("/info", { headers: other })).status).toBe(200);
  });

  test("leave those with a caller alone", async () => {
    const { one } = network();
    exhaust(one);
    const call = { key: ours.admin, headers: one };
    for (const path of [`${app}/custom/who`, "/v2/deployments"]) {
      expect((await answerOf(path, call)).status, path).toBe(200);
    }
    expect((await answerOf(`${app}/threads`, { ...call, json: {} })).status).toBe(200);
    const wrong = await answerOf(`${app}/custom/who`, { key: UNKNOWN_KEY, headers: one });
    expect(wrong.status).toBe(429);
  });
});

describe("failed authentications", () => {
  test("are limited by network, and a key that was valid lately still is", async () => {
    const { one, two, other } = network();
    const call = (key: string | undefined, headers: Record<string, string>) =>
      api("/v2/deployments", { headers, ...(key !== undefined && { key }) });
    expect((await call(ours.admin, one)).status).toBe(200);
    await failOften(one, "workspaces");
    for (const key of [UNKNOWN_KEY, undefined, (await workspace()).admin]) {
      for (const headers of [one, two]) expect((await call(key, headers)).status).toBe(429);
    }
    expect(Number((await call(UNKNOWN_KEY, one)).headers.get("Retry-After"))).toBeGreaterThan(0);
    expect((await call(ours.admin, one)).status).toBe(200);
    expect((await call(UNKNOWN_KEY, other)).status).toBe(401);
  });

  test("are counted one by one", async () => {
    const { one } = network();
    const refuse = () => Promise.reject(new AppError("unauthenticated", "Invalid API key."));
    for (let n = 0; n < ALLOWED - 3; n++) {
      await limitFailures(new Headers(one), "workspaces", refuse).catch(() => {});
    }
    const call = () => api("/v2/deployments", { key: UNKNOWN_KEY, headers: one });
    const statuses = [];
    for (let n = 0; n < 5; n++) statuses.push((await call()).status);
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
  });

  test("of an agent's users are counted for that agent", async () => {
    const [agent, another] = [await agentWithUsers(), await agentWithUsers()];
    const { one, other } = network();
    await failOften(one, agent.deployment_id);
    const call = ({ as }: typeof agent, headers: Record<string, string>) =>
      as(null)("/threads/search", { json: {}, headers });
    expect((await call(agent, one)).status).toBe(429);
    expect((await call(agent, other)).status).toBe(401);
    expect((await call(another, one)).status).toBe(401);
  });
});

test("an agent's code does not choose the network of its calls", async () => {
  const { json } = await answerOf(`${app}/custom/internal`, {});
  expect(json).not.toHaveProperty("cf-connecting-ip");
});
