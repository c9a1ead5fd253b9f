import { env } from "cloudflare:workers";
import { toRunRequest } from "../../src/agent-server/threads/api/runs/run-request.ts";
import { systemAssistant } from "../../src/agent-server/threads/contract/assistant-ids.ts";
import { RunCreate } from "../../src/agent-server/threads/contract/requests/run-schema.ts";
import { sharedObjectOf } from "../../src/agent-server/threads/contract/shared-objects.ts";
import { threadObject } from "../../src/agent-server/threads/object/stub.ts";
import type { ThreadCalls } from "../../src/agent-server/threads/object/thread-calls.ts";
import { newId } from "../../src/shared/storage/ids.ts";
import { testDeployment } from "./agent-deployment.ts";
import { systemContext } from "./deployment.ts";

export const EVERYTHING = {
  after: -1,
  modes: null,
  namespaces: null,
  cancel_on_disconnect: false,
};

type Body = Record<string, unknown>;

/** The name of the object that has a thread, unless that object was not free for it. */
export function objectNameOf(deployment_id: string, thread_id: string): string {
  const number = sharedObjectOf(thread_id);
  return number === null ? `${deployment_id}/${thread_id}` : `${deployment_id}/shared/${number}`;
}

/** A stub is dead once its object crashed; like requests, each call of a test takes its own. */
function freshStubs(stub: () => ThreadCalls): ThreadCalls {
  return new Proxy({} as ThreadCalls, {
    get: (_target, method) => Reflect.get(stub(), method),
  });
}

let shared: ReturnType<typeof ownRevision> | undefined;

/** Shared by the test files of a process, because loading an isolate is slow. */
function sharedRevision() {
  shared ??= ownRevision();
  return shared;
}

/** A new workspace and revision: the shared one holds projects and threads of other tests. */
export async function ownRevision(config_env: Record<string, string> = {}) {
  const workspace_id = newId();
  return { workspace_id, revision: await testDeployment(workspace_id, undefined, { config_env }) };
}

/** A revision of the agent that calls the host of its run with what its input describes. */
export async function hostileRevision() {
  const workspace_id = newId();
  const code = { module: env.HOSTILE_AGENT, graphs: ["hostile", "lost"] };
  return { workspace_id, revision: await testDeployment(workspace_id, {}, code) };
}

/** A new thread, spoken to as the service does. */
export async function testThread(of = sharedRevision()) {
  const { workspace_id, revision } = await of;
  const { deployment_id } = revision;
  const thread_id = newId();
  const object = freshStubs(() => threadObject(env, deployment_id, thread_id));
  const place = { thread_id, deployment_id, workspace_id, metadata: {}, temporary: false };
  const order = (graph_id: string, body: Body = {}, run_id = newId()) =>
    toRunRequest(RunCreate.parse({ assistant_id: graph_id, ...body }), {
      assistant: systemAssistant(graph_id),
      revision,
      created_by: { caller: systemContext(workspace_id).caller, origin: "https://heddle.test" },
      headers: {},
      run_id,
      create_thread: null,
      temporary: false,
    });
  await object.createThread(place);

  const create = async (graph_id: string, body: Body = {}) => {
    const answer = await object.createRun(order(graph_id, body));
    if (!answer.ok) throw new Error(answer.refusal);
    return answer.run;
  };
  const stream = async (graph_id: string, body: Body = {}) => {
    const answer = await object.streamRun(order(graph_id, body), EVERYTHING);
    if (!answer.ok) throw new Error(answer.refusal);
    return readEvents(answer.events);
  };
  const wait = async (graph_id: string, body: Body = {}, run_id = newId()) => {
    const answer = await object.waitRun(order(graph_id, body, run_id), "continue");
    if (!answer.ok) throw new Error(answer.refusal);
    return JSON.parse(await readText(answer.body));
  };
  const join = async (run_id: string) => {
    const answer = await object.joinRun(run_id, false);
    if (!answer) throw new Error("Run not found");
    return JSON.parse(await readText(answer));
  };
  const follow = async (run_id: string, after = -1) => {
    const answer = await object.followRun(run_id, { ...EVERYTHING, after });
    if (!answer) throw new Error("Run not found");
    return readEvents(answer);
  };
  return { object, thread_id, revision, place, order, create, stream, wait, join, follow };
}

/** Values as if a node of the root graph had written them. */
export function stateUpdate(values: Body, as_node: string) {
  return { ns: "", checkpoint_id: null, supersteps: [[{ values, command: null, as_node }]] };
}

export async function readText(stream: string | ReadableStream): Promise<string> {
  return new Response(stream).text();
}

/** Reads the stream of a run until it has had the text. */
export async function streamUntil(
  object: ThreadCalls,
  run_id: string,
  text: string,
): Promise<void> {
  const reader = (await object.followRun(run_id, EVERYTHING))?.getReader();
  let read = "";
  while (!read.includes(text)) read += new TextDecoder().decode((await reader?.read())?.value);
  reader?.cancel().catch(() => {});
}

export type SentEvent = { id: number; event: string; data: unknown };

export async function readEvents(stream: string | ReadableStream): Promise<SentEvent[]> {
  const frames = (await readText(stream)).split("\n\n").filter((frame) => frame.includes("data: "));
  return frames.map((frame) => {
    const lines = frame.split("\n");
    const field = (name: string) =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? "";
    return { id: Number(field("id")), event: field("event"), data: JSON.parse(field("data")) };
  });
}

export function namesOf(events: SentEvent[]): string[] {
  return events.map(({ event }) => event);
}
