import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { agentIsolate } from "../../../src/control-plane/deployments/isolate/isolate.ts";
import { AgentLog, agentLog } from "../../../src/control-plane/deployments/logs/agent-log.ts";
import { appendLines } from "../../../src/control-plane/deployments/logs/tail.ts";
import {
  type AgentLine,
  LINE_MARK,
  toEarlyLines,
  toLines,
} from "../../../src/control-plane/deployments/logs/tail-lines.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { deploymentRow, putArtifact, revisionRow } from "../../support/deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Line = { id: string; level: string; message: string; timestamp: string };
type Page = { logs: Line[]; next_offset: string | null };

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});

const NOON_US = Date.parse("2026-11-20T12:00:00.000Z") * 1000;
const line = (revision_id: string, message: string, fields: Partial<AgentLine> = {}) => {
  return { revision_id, level: "INFO" as const, message, at_us: NOON_US, key: null, ...fields };
};
const messages = ({ logs }: Page) => logs.map(({ message }) => message);

async function logged() {
  const deployment = await deploymentRow(ours.workspace_id);
  const revision = await revisionRow(deployment);
  const object = agentLog(env, deployment.id);
  const append = (...lines: AgentLine[]) => object.append(deployment.id, lines);
  const project = `/v1/projects/${deployment.id}`;
  const read = async (json: unknown, path = "deploy_logs") => {
    const response = await api(`${project}/${path}`, { key: ours.viewer, json });
    expect(response.status).toBe(200);
    return response.json<Page>();
  };
  return { deployment, revision, append, read };
}

describe("the log of a deployment's agents", () => {
  test("is followed by its offset, which changes only with new lines", async () => {
    const { revision, append, read } = await logged();
    expect(await read({ order: "asc" })).toEqual({ logs: [], next_offset: "0" });
    await append(line(revision.id, "one"), line(revision.id, "two"), line(revision.id, "three"));
    const first = await read({ order: "asc", limit: 2 });
    expect(messages(first)).toEqual(["one", "two"]);
    const rest = await read({ order: "asc", limit: 2, offset: first.next_offset });
    expect(messages(rest)).toEqual(["three"]);
    const nothing = await read({ order: "asc", limit: 2, offset: rest.next_offset });
    expect(nothing).toEqual({ logs: [], next_offset: rest.next_offset });
    await append(line(revision.id, "four"));
    expect(messages(await read({ order: "asc", offset: rest.next_offset }))).toEqual(["four"]);
  });

  test("is followed by time without a line missed or stuck at, whatever the clocks of runs are", async () => {
    const { revision, append, read } = await logged();
    const same = Array.from({ length: 30 }, (_, at) => line(revision.id, `line ${at}`));
    await append(...same, line(revision.id, "late", { at_us: NOON_US - 60_000_000 }));
    const seen = new Set<string>();
    const received: string[] = [];
    let start_time: string | undefined;
    for (let polls = 0; polls < 8; polls++) {
      const { logs } = await read({ order: "asc", limit: 10, ...(start_time && { start_time }) });
      const fresh = logs.filter(({ id }) => !seen.has(id));
      for (const { id, message, timestamp } of fresh) {
        seen.add(id);
        received.push(message);
        start_time = timestamp;
      }
    }
    expect(received).toEqual([...same.map(({ message }) => message), "late"]);
  });

  test("is narrowed by revision, level, text and time, and read backwards", async () => {
    const { deployment, revision, append, read } = await logged();
    const other = await revisionRow(deployment, { number: 2 });
    await append(
      line(revision.id, "Hello", { level: "ERROR" }),
      line(other.id, "hello again", { at_us: NOON_US + 1_000_000 }),
      line(revision.id, "Bye", { at_us: NOON_US + 2_000_000 }),
    );
    expect(messages(await read({ order: "desc" }))).toEqual(["Bye", "hello again", "Hello"]);
    expect(messages(await read({ level: "ERROR" }))).toEqual(["Hello"]);
    expect(messages(await read({ query: "HELLO" }))).toEqual(["Hello", "hello again"]);
    expect(messages(await read({}, `revisions/${other.id}/deploy_logs`))).toEqual(["hello again"]);
    const window = { start_time: "2026-11-20T12:00:01Z", end_time: "2026-11-20T12:00:02Z" };
    expect(messages(await read(window))).toEqual(["hello again"]);
    const newest = await read({ order: "desc", limit: 2 });
    const oldest = await read({ order: "desc", limit: 2, offset: newest.next_offset });
    expect([messages(oldest), oldest.next_offset]).toEqual([["Hello"], null]);
  });

  test("outlives its object, and keeps the newest lines only", async () => {
    const { deployment, revision, append, read } = await logged();
    await append(line(revision.id, "first"));
    const stub = env.LOGS.getByName(deployment.id);
    await runInDurableObject(stub, (_object, state) => {
      state.storage.sql.exec("UPDATE lines SET id = 1");
      const columns = "id, revision_id, level, message, at_us";
      state.storage.sql.exec(
        `INSERT INTO lines (${columns}) VALUES (50000, ?, 'INFO', 'second', ?)`,
        revision.id,
        NOON_US + 1,
      );
    });
    await evictDurableObject(stub);
    await append(line(revision.id, "third"));
    expect(messages(await read({}))).toEqual(["second", "third"]);
  });

  test("has a line once that was sent early and again at the end of its call", async () => {
    const { deployment, revision, append, read } = await logged();
    await append(line(revision.id, "one", { key: "call:0" }), line(revision.id, "two"));
    const stub = env.LOGS.getByName(deployment.id);
    await evictDurableObject(stub);
    await append(
      line(revision.id, "one", { key: "call:0" }),
      line(revision.id, "two"),
      line(revision.id, "three", { key: "call:1" }),
    );
    expect(messages(await read({}))).toEqual(["one", "two", "two", "three"]);
  });

  test("full, has no line again that it deleted, and every new one", async () => {
    const { deployment, revision, append, read } = await logged();
    const early = line(revision.id, "early", { key: "call:0" });
    await append(early, line(revision.id, "second"));
    const older = { key: "call:1", at_us: NOON_US - 60_000_000 };
    await append(early, line(revision.id, "before the log was full", older));
    expect(messages(await read({}))).toEqual(["early", "second", "before the log was full"]);
    await runInDurableObject(env.LOGS.getByName(deployment.id), (_object, state) => {
      const columns = "id, revision_id, level, message, at_us";
      state.storage.sql.exec(
        `INSERT INTO lines (${columns}) VALUES (50003, ?, 'INFO', 'last', ?)`,
        revision.id,
        NOON_US + 10,
      );
    });
    await append(line(revision.id, "newest"));
    expect(messages(await read({}))).toEqual(["last", "newest"]);
    const late = { key: "call:2", at_us: NOON_US + 10 };
    await append(early, line(revision.id, "no key"), line(revision.id, "late", late));
    expect(messages(await read({}))).toEqual(["last", "newest", "no key", "late"]);
  });

  test("is not kept for a deployment that is gone, nor created by a read", async () => {
    const id = newId();
    await agentLog(env, id).append(id, [line(newId(), "late")]);
    const filter = {
      is_up: true,
      after: null,
      level: null,
      text: null,
      from_us: null,
      to_us: null,
    };
    expect(await agentLog(env, id).list(null, { ...filter, limit: 1 })).toEqual([]);
    await runInDurableObject(env.LOGS.getByName(id), (_object, state) => {
      const tables = state.storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'lines'");
      expect([...tables]).toEqual([]);
    });
  });
});

/**
 * Lets two calls of a deployment's log fail: one before it appends its lines, the next one after. Returns the outcomes
 * of all calls.
 */
function failAppends(of_deployment: string) {
  const outcomes: string[] = [];
  const { append } = AgentLog.prototype;
  const spy = vi.spyOn(AgentLog.prototype, "append");
  onTestFinished(() => spy.mockRestore());
  spy.mockImplementation(async function (this: AgentLog, deployment_id, lines) {
    if (deployment_id !== of_deployment) return append.call(this, deployment_id, lines);
    if (outcomes.length > 0) await append.call(this, deployment_id, lines);
    const outcome = ["failed before", "failed after"][outcomes.length] ?? "succeeded";
    outcomes.push(outcome);
    if (outcome !== "succeeded") throw new Error("the object restarted");
  });
  return outcomes;
}

const NOISY = `
import { WorkerEntrypoint } from "cloudflare:workers";
export class Agent extends WorkerEntrypoint {
  async talk() {
    console.log("hello", { a: 1 }, 2);
    console.warn("careful");
    console.error(new Error("broken"));
    return "done";
  }
  async quiet() { return "done"; }
}`;

test("what an isolate prints is in the log of its revision once, also after failed calls of the log", async () => {
  const { deployment, read } = await logged();
  const artifact_key = await putArtifact(NOISY);
  const revision = await revisionRow(deployment, { number: 2, status: "DEPLOYED", artifact_key });
  const ref = { deployment_id: deployment.id, revision_id: revision.id, secrets_version: 1 };
  // The loader types every entrypoint as a Fetcher; NOISY exports this one.
  const agent = agentIsolate(env, ref) as unknown as Record<
    "talk" | "quiet",
    () => Promise<string>
  >;
  const outcomes = failAppends(deployment.id);
  await agent.quiet();
  await agent.talk();
  const path = `revisions/${revision.id}/deploy_logs`;
  const expected = ["failed before", "failed after", "succeeded"];
  await eventually(() => expect(outcomes).toEqual(expected));
  const { logs } = await read({}, path);
  expect(logs.map(({ level, message }) => [level, message.split("\n")[0]])).toEqual([
    ["INFO", 'hello {"a":1} 2'],
    ["WARNING", "careful"],
    ["ERROR", "Error: broken"],
  ]);
});

test("what a run prints can be read while it runs, and exists once after its end", async () => {
  const { deployment_id } = await testDeployment(ours.workspace_id);
  const agent = `/agents/${deployment_id}/threads`;
  const call = async (path: string, json: unknown) => {
    const response = await api(`${agent}${path}`, { key: ours.editor, json });
    expect(response.ok).toBe(true);
    return response.json<Record<string, string>>();
  };
  const read = async () => {
    const path = `/v1/projects/${deployment_id}/deploy_logs`;
    const page = await api(path, { key: ours.viewer, json: {} });
    return (await page.json<Page>()).logs.map(({ level, message }) => [level, message]);
  };
  const { thread_id } = await call("", {});
  const { run_id } = await call(`/${thread_id}/runs`, { assistant_id: "talks", input: {} });
  const early = [
    ["INFO", 'first of 3 {"a":1}'],
    ["ERROR", "Error: second"],
  ];
  const lines = async () =>
    (await read()).map(([level, message = ""]) => [level, message.split("\n")[0]]);
  await eventually(async () => expect(await lines()).toEqual(early));
  expect((await read())[1]?.[1]).toContain('{"causes":{"one":"TypeError: nested');
  const run = await api(`${agent}/${thread_id}/runs/${run_id}`, { key: ours.viewer });
  expect(await run.json()).toMatchObject({ status: "running" });
  const cancelled = await api(`${agent}/${thread_id}/runs/${run_id}/cancel?wait=true`, {
    key: ours.editor,
    method: "POST",
  });
  expect(cancelled.ok).toBe(true);
  const all = [...early, ["WARNING", "third"]];
  await eventually(async () => expect(await lines()).toEqual(all));
}, 60_000);

test("calls of one deployment in an isolate share calls of its log, and lose no line", async () => {
  const append = vi.spyOn(AgentLog.prototype, "append");
  const [one, other] = [await logged(), await logged()];
  const print = ({ deployment, revision }: typeof one, call: number) => {
    const props = { deployment_id: deployment.id, revision_id: revision.id };
    return appendLines(env, props, [line(revision.id, `call ${call}`)]);
  };
  const calls = Array.from({ length: 20 }, (_, call) => call);
  await Promise.all(calls.flatMap((call) => [print(one, call), print(other, call)]));
  for (const { deployment, read } of [one, other]) {
    const own = append.mock.calls.filter(([deployment_id]) => deployment_id === deployment.id);
    expect(own).toHaveLength(1);
    expect(messages(await read({ order: "asc" }))).toEqual(calls.map((call) => `call ${call}`));
  }
  append.mockRestore();
}, 60_000);

test("a line's mark becomes its key, not its text; no line is later than now", () => {
  const logs = [{ level: "warn", message: [`${LINE_MARK}call:7`, "a", 1], timestamp: 2000 }];
  const event = { logs, exceptions: [], outcome: "ok", eventTimestamp: 1 } as unknown as TraceItem;
  const fields = { revision_id: "r", level: "WARNING", message: "a 1", key: "call:7" };
  expect(toLines("r", [event])).toEqual([{ ...fields, at_us: 2_000_000 }]);
  const early = [{ key: "call:7", level: "warn", message: "a 1", ms: 9e15 }];
  expect(toEarlyLines("r", early, 2000)).toEqual([{ ...fields, at_us: 2_000_000 }]);
  expect(toEarlyLines("r", [{ key: "k", level: "log", message: "", ms: 1.5 }], 2000)).toEqual([]);
});

test("the runtime's report of a call whose answer was sent adds no line", () => {
  const message =
    "The Workers runtime canceled this request because it detected that your Worker's code had hung and would never generate a response.";
  const hung = { name: "Error", message, stack: null, timestamp: 1000 };
  const own = { name: "TypeError", message: "no", stack: null, timestamp: 2000 };
  const event = { logs: [], exceptions: [hung, own], outcome: "exception", eventTimestamp: 500 };
  const lines = toLines("r", [event as unknown as TraceItem]);
  expect(lines.map((line) => line.message)).toEqual(["Uncaught TypeError: no"]);
});

test("an exception and a fatal end are lines, in the order of time and cut to size", () => {
  const event = {
    logs: [{ level: "log", message: ["x".repeat(9000)], timestamp: 2000 }],
    exceptions: [{ name: "TypeError", message: "no", stack: "at a.js:1", timestamp: 1000 }],
    outcome: "exceededMemory",
    eventTimestamp: 500,
  } as unknown as TraceItem;
  const lines = toLines("r", [event]);
  expect(lines.map(({ level, at_us }) => [level, at_us])).toEqual([
    ["ERROR", 1_000_000],
    ["INFO", 2_000_000],
    ["CRITICAL", 2_000_000],
  ]);
  expect(lines[0]?.message).toBe("Uncaught TypeError: no\nat a.js:1");
  expect(lines[1]?.message).toHaveLength(8000);
});

const NOISE = [
  "An RPC stub was not disposed properly. You must call dispose() on all stubs in order to let the other side know.",
  "An RPC result was not disposed properly. One of the RPC calls you made expects you to call dispose().",
  "Warning: A promise was resolved or rejected from a different request context than the one it was created in.",
];

test.each(NOISE)("the runtime's warning about work between calls adds no line: %s", (text) => {
  const logs = [
    { level: "warn", message: [text], timestamp: 1000 },
    { level: "warn", message: ["mine"], timestamp: 2000 },
    { level: "warn", message: [`${LINE_MARK}call:1`, text], timestamp: 3000 },
  ];
  const event = { logs, exceptions: [], outcome: "ok", eventTimestamp: 500 };
  const lines = toLines("r", [event as unknown as TraceItem]);
  // The agent's own line with the same text has a mark.
  expect(lines.map(({ message }) => message)).toEqual(["mine", text]);
});

test("the exception of a run is in the log, once, at its place in the repository", async () => {
  const module = `${env.TEST_AGENT}\n`;
  const { deployment_id, revision_id } = await testDeployment(ours.workspace_id);
  const at = module.split("\n").findIndex((text) => text.includes("the node broke"));
  const map = {
    sources: ["src/graph.ts"],
    sourcesContent: ["\n\n  throw new RangeError('mine');\n"],
    mappings: `${";".repeat(at)}AAEE`,
  };
  await env.ARTIFACTS.put(`artifacts/${revision_id}.map.json`, JSON.stringify(map));
  const run = await api(`/agents/${deployment_id}/runs/wait`, {
    key: ours.editor,
    json: { assistant_id: "fails", input: {} },
  });
  expect(run.status).toBeLessThan(500);
  const read = async () => {
    const json = { level: "ERROR", query: "the node broke" };
    const page = await api(`/v1/projects/${deployment_id}/deploy_logs`, { key: ours.viewer, json });
    return (await page.json<Page>()).logs.map(({ message }) => message);
  };
  await eventually(async () => expect(await read()).toHaveLength(1));
  const [message = ""] = await read();
  expect(message).toMatch(/^Run [0-9a-f-]{36} failed: RangeError: the node broke\n/);
  expect(message).toMatch(/at .*src\/graph\.ts:3:3/);
  expect(message).toContain("src/graph.ts:3:3\n      throw new RangeError('mine');\n      ^");
}, 60_000);
