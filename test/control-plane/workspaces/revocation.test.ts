import { env, exports } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { database } from "../../../src/shared/context.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { createApiKey, createUser, setMembership } from "../../support/organizations.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

const db = database(env);

let own: TestWorkspace;
let base: string;
let run: string;

beforeAll(async () => {
  own = await workspace();
  const { deployment_id } = await testDeployment(own.workspace_id);
  const threads = `/agents/${deployment_id}/threads`;
  const { thread_id } = await made<{ thread_id: string }>(threads, {});
  base = `${threads}/${thread_id}`;
  // Never starts during the test: its readers stay open, and nothing is published to them.
  const request = { assistant_id: "echo", after_seconds: 3600, input: {} };
  const { run_id } = await made<{ run_id: string }>(`${base}/runs`, request);
  run = `${base}/runs/${run_id}`;
});

async function made<T>(path: string, json: unknown): Promise<T> {
  const response = await api(path, { key: own.admin, json });
  expect(response.status).toBe(200);
  return response.json<T>();
}

async function serviceKey() {
  const { organization_id, workspace_id } = own;
  const input = { kind: "service", organization_id, workspace_id, role: "editor" } as const;
  return createApiKey(db, input);
}

/** Resolves when the response ends, however it ends. */
async function endOf(response: Response): Promise<"ended"> {
  expect(response.status).toBe(200);
  await response.text().catch(() => {});
  return "ended";
}

async function openSocket(key: string): Promise<WebSocket> {
  const response = await exports.default.fetch(`https://heddle.test${base}/stream/events`, {
    headers: { Upgrade: "websocket", "X-Api-Key": key },
  });
  const { webSocket } = response;
  if (!webSocket) throw new Error(`no socket: ${response.status}`);
  webSocket.accept();
  return webSocket;
}

function closeOf(socket: WebSocket): Promise<number> {
  return new Promise((resolve) => {
    socket.addEventListener("close", ({ code }) => resolve(code));
  });
}

function answerOf(socket: WebSocket): Promise<string> {
  return new Promise((resolve) => {
    socket.addEventListener("message", ({ data }) => resolve(String(data)), { once: true });
  });
}

function subscribe(socket: WebSocket, id: number): Promise<string> {
  const answer = answerOf(socket);
  const params = { channels: ["values"] };
  socket.send(JSON.stringify({ id, method: "subscription.subscribe", params }));
  return answer;
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T | "open"> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<"open">((resolve) => {
    timer = setTimeout(() => resolve("open"), ms);
  });
  const first = await Promise.race([promise, late]);
  clearTimeout(timer);
  return first;
}

describe("what is open when access ends", () => {
  const endings: [string, () => Promise<{ key: string; end: () => Promise<unknown> }>][] = [
    [
      "a revoked key",
      async () => {
        const { id, api_key } = await serviceKey();
        const path = `/api/v1/api-key/${id}`;
        return { key: api_key, end: () => api(path, { key: own.admin, method: "DELETE" }) };
      },
    ],
    [
      "a removed member",
      async () => {
        const { organization_id, workspace_id } = own;
        const email = `${crypto.randomUUID()}@acme.test`;
        const { id: user_id } = await createUser(db, { organization_id, email });
        await setMembership(db, { user_id, workspace_id, role: "editor" });
        const input = { kind: "personal", organization_id, user_id } as const;
        const { api_key } = await createApiKey(db, input);
        const path = `/api/v1/workspaces/current/members/${user_id}`;
        return { key: api_key, end: () => api(path, { key: own.admin, method: "DELETE" }) };
      },
    ],
    [
      "a rotated secret",
      async () => {
        const { id, api_key } = await serviceKey();
        const path = `/api/v1/api-key/${id}/rotate`;
        return { key: api_key, end: () => api(path, { key: own.admin, method: "POST" }) };
      },
    ],
    [
      "a key that another isolate expired",
      async () => {
        const { id, api_key } = await serviceKey();
        const expire = env.DB.prepare("UPDATE api_keys SET expires_at = created_at WHERE id = ?");
        return { key: api_key, end: () => expire.bind(id).run() };
      },
    ],
  ];

  test.concurrent.each(endings)("is closed: %s", async (_, begin) => {
    const { key, end } = await begin();
    const socket = await openSocket(key);
    expect(await subscribe(socket, 1)).toContain('"type":"success"');
    const closed = closeOf(socket);
    const readers = await Promise.all(
      [`${base}/stream`, `${run}/stream`, `${run}/join`].map((path) => api(path, { key })),
    );
    const control = await openSocket(own.editor);
    const other = closeOf(control);
    const ended = readers.map(endOf);
    expect(await within(Promise.race([closed, other, ...ended]), 5000)).toBe("open");
    await end();
    const all = Promise.all([closed, ...ended]);
    const code = key.includes("_pt_") ? expect.toBeOneOf([4401, 4403]) : 4401;
    expect(await all).toEqual([code, "ended", "ended", "ended"]);
    expect(await within(other, 100)).toBe("open");
    expect(await subscribe(control, 1)).toContain('"type":"success"');
    control.close(1000);
    expect((await api(`${base}/state`, { key })).status).toBe(401);
  });
});

test("a socket's close passes both ways", async () => {
  const socket = await openSocket(own.editor);
  const closed = closeOf(socket);
  socket.close(1000, "done");
  expect(await closed).toBe(1000);
});
