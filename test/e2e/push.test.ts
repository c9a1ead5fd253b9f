import { createHmac, generateKeyPairSync } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { jwtVerify } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { client } from "./support/clients.ts";
import { awaitRevision, createBody, type Deployment, uniqueName } from "./support/deployments.ts";
import { request } from "./support/http.ts";
import { pushRepository } from "./support/repositories.ts";
import { stack, until } from "./support/stack.ts";

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const PEM = privateKey.export({ type: "pkcs1", format: "pem" }).toString();
const TOKEN = "ghs_an-hour-long";
const REPOSITORY = uniqueName("pushed");

type Status = { sha: string; state: string; context: string; description: string };

/** The parts of a repository host's API that an installed app uses; code comes from the stack's git host. */
const requests = { tokens: 0, statuses: [] as Status[] };
let server: Server;
let origin: string;

beforeAll(async () => {
  server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => send(response, 500, String(error)));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((done) => server.close(done)));

async function answer(incoming: IncomingMessage, response: ServerResponse) {
  const { pathname } = new URL(incoming.url ?? "/", origin);
  const bearer = incoming.headers.authorization?.replace(/^Bearer /, "") ?? "";
  if (pathname === "/app/installations/7/access_tokens") return giveToken(bearer, response);
  if (bearer !== TOKEN) return send(response, 401, { message: "Bad credentials" });
  const [, kind = "", rest = ""] =
    /^\/(installation|repos\/acme\/agent\/statuses|repos\/acme\/agent\/tarball)\/(.+)$/.exec(
      pathname,
    ) ?? [];
  if (kind === "installation") return listRepositories(incoming, response);
  if (kind.endsWith("statuses")) return takeStatus(rest, incoming, response);
  const location = `${stack.git.url}/repos/tests/${REPOSITORY}/tarball/${rest}`;
  response.writeHead(302, { location }).end();
}

async function giveToken(jwt: string, response: ServerResponse) {
  const { payload } = await jwtVerify(jwt, publicKey, { algorithms: ["RS256"] });
  requests.tokens += 1;
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  send(response, payload.iss === "app-1" ? 201 : 401, { token: TOKEN, expires_at });
}

function listRepositories(incoming: IncomingMessage, response: ServerResponse) {
  const one = {
    id: 1,
    name: "agent",
    owner: { login: "acme" },
    clone_url: `${origin}/acme/agent.git`,
    default_branch: "main",
  };
  const isFirst = incoming.url?.endsWith("page=1");
  send(response, 200, { repositories: isFirst ? [one] : [] });
}

async function takeStatus(sha: string, incoming: IncomingMessage, response: ServerResponse) {
  let text = "";
  for await (const chunk of incoming) text += String(chunk);
  requests.statuses.push({ sha, ...JSON.parse(text) });
  send(response, 201, {});
}

function send(response: ServerResponse, status: number, body: unknown) {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

const files = (version: string) => ({
  "langgraph.json": JSON.stringify({ graphs: { agent: "./agent.js:agent" } }),
  "agent.js": `export async function agent() { return { text: "${version}" }; }`,
});

test("a push is built, deployed and reported to the host, with tokens of an installed app", async () => {
  const integration = await request<{ id: string; installation_id: number }>(
    "POST",
    "/v1/integrations/github/install",
    {
      name: "app",
      api_url: origin,
      app: { app_id: "app-1", installation_id: 7, private_key: PEM },
    },
  );
  expect(integration.status).toBe(201);
  expect(integration.body.installation_id).toBe(7);
  const { id: integration_id } = integration.body;
  const list = await request("GET", `/v1/integrations/github/${integration_id}/repos`);
  expect(list.body).toEqual([
    {
      host_integration_id: integration_id,
      id: 1,
      name: "agent",
      owner: "acme",
      url: `${origin}/acme/agent.git`,
      default_branch: "main",
    },
  ]);

  await pushRepository(REPOSITORY, files("one"));
  const body = createBody(uniqueName("pushed"), `${origin}/acme/agent.git`);
  const created = await request<Deployment>("POST", "/v2/deployments", {
    ...body,
    source_config: { ...body.source_config, integration_id, build_on_push: true },
  });
  const { id, name, latest_revision_id } = created.body;
  expect((await awaitRevision(id, latest_revision_id)).status).toBe("DEPLOYED");

  await pushRepository(REPOSITORY, files("two"));
  const hook = await request<{ url: string; secret: string }>(
    "GET",
    `/v1/integrations/github/${integration_id}/webhook`,
  );
  const push = JSON.stringify({
    ref: "refs/heads/main",
    after: "b".repeat(40),
    repository: { clone_url: `${origin}/acme/agent.git` },
  });
  const deliver = async () => {
    const response = await fetch(hook.body.url, {
      method: "POST",
      body: push,
      headers: {
        "content-type": "application/json",
        "x-github-event": "push",
        "x-github-delivery": "d-1",
        "x-hub-signature-256": `sha256=${createHmac("sha256", hook.body.secret).update(push).digest("hex")}`,
      },
    });
    return (await response.json()) as { revisions: string[] };
  };
  const { revisions } = await deliver();
  expect(revisions).toHaveLength(1);
  expect((await deliver()).revisions).toEqual([]);
  expect((await awaitRevision(id, revisions[0] ?? "")).status).toBe("DEPLOYED");
  expect(await client(id).runs.wait(null, "agent", { input: {} })).toEqual({ text: "two" });
  const statuses = await until(
    "The status of the commit",
    async () => requests.statuses,
    (all) => all.filter(({ state }) => state === "success").length === 2,
  );
  const built = statuses.find(({ state }) => state === "pending");
  expect(built).toMatchObject({ context: `heddle/${name}` });
  // The branch has other commits than the pushed one, which therefore never becomes pending.
  const ended = new Set(statuses.filter(({ state }) => state === "success").map(({ sha }) => sha));
  expect(statuses.filter(({ sha }) => !ended.has(sha))).toEqual([]);
  expect(requests.tokens).toBe(1);
});
