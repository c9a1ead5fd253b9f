import { env, exports } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { accessOf } from "../../../src/agent-server/access/service.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { agentWithUsers } from "../../support/agent-users.ts";
import { systemContext } from "../../support/deployment.ts";
import { ALL, endOfRun, openSocket, protocolOf, takeUntil } from "../../support/protocol.ts";

const hi = { messages: [{ role: "user", content: "hi" }] };

let base: string;
let workspace_id: string;
beforeAll(async () => {
  ({ base, workspace_id } = await agentWithUsers());
});

const as = (token: string, thread_id?: string) =>
  protocolOf(base, { Authorization: `Bearer ${token}` }, thread_id);

describe("the v2 protocol at an agent with users", () => {
  test("a run that a command starts is its user's, over HTTP and over a socket", async () => {
    const anna = as("anna");
    await anna.start("config");
    const received = await anna.events(endOfRun());
    const values = received.filter(({ method }) => method === "values").at(-1);
    const seen = { langgraph_auth_user_id: "anna" };
    expect(values?.params.data).toMatchObject({ seen });
    const protocols = `heddle, heddle.auth.${btoa("anna").replaceAll("=", "")}`;
    const socket = await openSocket(as("").path, { "Sec-WebSocket-Protocol": protocols });
    await socket.command("subscription.subscribe", { channels: ["values", "lifecycle"] });
    await socket.command("run.start", { assistant_id: "config", input: {} });
    await socket.ends(1);
    const [last] = socket
      .events()
      .filter(({ method }) => method === "values")
      .slice(-1);
    expect(last?.params.data).toMatchObject({ seen });
  });

  test("a socket closes with the part of its session that is too large, and SSE stays open", async () => {
    const thread_id = crypto.randomUUID();
    const long = "x".repeat(13 * 1024);
    const large = as(`anna:${long}`, thread_id);
    expect(await (await large.socket()).closed).toEqual({
      code: 4413,
      reason: expect.stringMatching(/^The agent's user .* use SSE\.$/),
    });
    const stream = await large.open();
    expect(stream.status).toBe(200);
    await stream.body?.cancel();
    const headers = { Authorization: "Bearer anna", "x-note": long };
    expect(await (await protocolOf(base, headers, thread_id).socket()).closed).toEqual({
      code: 4413,
      reason: expect.stringMatching(/^The x- headers .* use SSE\.$/),
    });
  });

  test("another user's thread is not there: no event, no command, no socket", async () => {
    const { thread_id, start, events } = as("anna");
    await start("echo", { input: hi });
    await events(endOfRun());
    const bob = as("bob", thread_id);
    const opened = await bob.open();
    expect([opened.status, await opened.text()]).toEqual([
      404,
      `Thread with ID ${thread_id} not found`,
    ]);
    await expect(bob.command("agent.getTree", {})).resolves.toMatchObject({ error: "no_such_run" });
    await expect(bob.command("state.get", {})).resolves.toMatchObject({
      error: "no_such_checkpoint",
    });
    await expect(bob.command("input.respond", { interrupt_id: "x" })).resolves.toMatchObject({
      error: "no_such_run",
    });
    await expect(bob.start("echo", { input: hi })).rejects.toThrow("404");
    expect(await (await bob.socket()).closed).toMatchObject({ code: 4404 });
  });

  test("a reader that waited for a thread of another user receives nothing", async () => {
    const { thread_id, start, events } = as("anna");
    const bob = as("bob", thread_id);
    const waiting = takeUntil(await bob.open(), endOfRun());
    const socket = await bob.socket();
    await socket.command("subscription.subscribe", ALL);
    await start("echo", { input: hi });
    await events(endOfRun());
    expect(await waiting).toEqual([]);
    expect(await socket.closed).toMatchObject({ code: 4404 });
    expect(socket.events()).toEqual([]);
  });

  test("an old session must authenticate again", async () => {
    const { thread_id, start } = as("anna");
    await start("echo", { input: hi });
    const sessionOf = (expires_at: number) =>
      exports
        .ThreadSession({
          props: {
            caller: systemContext(workspace_id).caller,
            user: { identity: "anna", permissions: [] },
            deployment_id: base.replace("/agents/", ""),
            ...{ thread_id, headers: {}, origin: "https://heddle.test", expires_at },
          },
        })
        .checkAccess();
    expect(await sessionOf(Date.now() + 60_000)).toBeNull();
    expect(await sessionOf(Date.now() - 1)).toMatchObject({ status: 408 });
  });

  test("a user of an agent that dropped auth may no longer act", async () => {
    const { deployment_id } = await testDeployment(workspace_id, {});
    const user = { identity: "anna", permissions: [] };
    const actor = { type: "agent_user", deployment_id, identity: "anna" } as const;
    const caller = { ...systemContext(workspace_id).caller, role: "editor" as const, actor };
    const props = { caller, user, deployment_id, thread_id: crypto.randomUUID(), headers: {} };
    const session = exports.ThreadSession({
      props: { ...props, origin: "https://heddle.test", expires_at: null },
    });
    const text = expect.stringContaining("no custom authentication");
    expect(await session.checkAccess()).toEqual({ status: 403, message: text });
    const refusal = accessOf(env, deployment_id, { caller, user });
    await expect(refusal).rejects.toMatchObject({ code: "forbidden", message: text });
    const keyed = { caller: systemContext(workspace_id).caller, user: null };
    expect(await accessOf(env, deployment_id, keyed)).toMatchObject({ user: null });
  });

  test("a user without access to the thread is refused", async () => {
    const { thread_id } = as("anna");
    const stranger = as("nobody", thread_id);
    expect((await stranger.open()).status).toBe(403);
    expect(await (await stranger.socket()).closed).toMatchObject({ code: 4403 });
    await expect(stranger.start("echo", { input: hi })).rejects.toThrow("403");
  });
});
