import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { handleRequest } from "../../../src/handle-request.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { answerOf } from "../../support/agent-users.ts";
import { type TestWorkspace, workspace } from "../../support/workspace.ts";

const APP = { app: "./src/app.ts:app" };
const PREFIX = { mount_prefix: "/below" };
const PART_BYTES = 64 * 1024;
const BODY_BYTES = 9 * 1024 * 1024;

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});

async function agent(http: Record<string, unknown>): Promise<string> {
  const { deployment_id } = await testDeployment(ours.workspace_id, { http });
  return `/agents/${deployment_id}`;
}

/** Sends 9 MiB without a credential, and counts what the Worker reads of it. */
async function sendLarge(path: string) {
  let read = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        read += PART_BYTES;
        if (read > BODY_BYTES) return controller.close();
        controller.enqueue(new Uint8Array(PART_BYTES).fill(0x20));
      },
    },
    { highWaterMark: 0 },
  );
  const headers = { "Content-Type": "application/json", "Content-Length": String(BODY_BYTES) };
  const request = new Request(`https://heddle.test${path}`, { method: "POST", headers, body });
  const response = await handleRequest(request, env, createExecutionContext());
  return { status: response.status, text: await response.text(), read };
}

describe("mount_prefix", () => {
  test.each([{}, APP, { ...APP, enable_custom_route_auth: false }])(
    "%j: is removed once, however often a path repeats it",
    async (http) => {
      const base = await agent({ ...http, ...PREFIX });
      const status = async (path: string) =>
        (await answerOf(base + path, { key: ours.admin, json: {} })).status;
      expect(await status("/below/threads")).toBe(200);
      for (const times of [2, 3, 40, 200]) {
        expect(await status(`${"/below".repeat(times)}/threads`)).toBe(404);
      }
    },
  );

  test("a body sent to 200 prefixes without a credential is not read", async () => {
    for (const http of [{}, APP]) {
      const base = await agent({ ...http, ...PREFIX });
      const { status, read } = await sendLarge(`${base}${"/below".repeat(200)}/threads`);
      expect([status, read]).toEqual([401, 0]);
    }
  });
});

describe("the body of a request to an agent's app", () => {
  test("is a stream, which an app that answers early leaves unread", async () => {
    const base = await agent({ ...APP, enable_custom_route_auth: false });
    const { status, read } = await sendLarge(`${base}/custom/early`);
    expect(status).toBe(200);
    // Capacity of the pipe to the isolate.
    expect(read).toBeLessThan(BODY_BYTES / 4);
  });

  test("arrives whole behind the app", async () => {
    const base = await agent(APP);
    const json = { metadata: { text: "a".repeat(120_000) } };
    const made = await answerOf(`${base}/threads`, { key: ours.admin, json });
    expect([made.status, made.text.slice(0, 200)]).toEqual([200, expect.any(String)]);
    expect(made.json).toMatchObject(json);
  });

  test.each(["client", "builtin"])(
    "is counted when the agent's %s sends it, whatever length its header states",
    async (by) => {
      const base = await agent(APP);
      const json = { by, bytes: 11_000_000 };
      const sent = await answerOf(`${base}/custom/flood`, { key: ours.admin, json });
      expect(sent.json).toMatchObject({ status: 413 });
    },
  );
});
