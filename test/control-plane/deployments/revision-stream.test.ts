import { env } from "cloudflare:workers";
import { afterEach, beforeAll, expect, test } from "vitest";
import { LogSink } from "../../../src/control-plane/builds/queue/log-sink.ts";
import { agentLog } from "../../../src/control-plane/deployments/logs/agent-log.ts";
import type { Revision } from "../../../src/control-plane/deployments/revision-schema.ts";
import { claimBuild } from "../../../src/control-plane/deployments/rollout/build-claim-service.ts";
import {
  activateBuild,
  advanceBuild,
  recordArtifact,
} from "../../../src/control-plane/deployments/rollout/build-service.ts";
import { deploymentRow, releaseBuilds, revisionRow } from "../../support/deployment.ts";
import { eventsOf, listOf, nextOf, type StreamEvent } from "../../support/events.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

const COMMIT = {
  repo_commit_sha: "c".repeat(40),
  repo_commit_message: "Ask before refunds",
  repo_commit_authored_at: "2026-11-20T11:59:00.000Z",
};

let ours: TestWorkspace;
let theirs: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
  theirs = await workspace();
});
afterEach(releaseBuilds);

async function building() {
  const deployment = await deploymentRow(ours.workspace_id);
  const revision = await revisionRow(deployment, { trigger: "api" });
  const build = await claimBuild(env, revision.id, new Date());
  if (!build) throw new Error("The revision cannot be claimed");
  const sink = new LogSink(env, build);
  let written = 0;
  const write = (count: number, level: "INFO" | "ERROR" = "INFO") =>
    sink.log(
      Array.from({ length: count }, () => {
        written += 1;
        return { level, message: `Line ${written}`, timestamp: "2026-11-20T12:00:00.000Z" };
      }),
    );
  const path = `/v2/deployments/${deployment.id}/revisions/${revision.id}`;
  const open = (id?: string, key = ours.viewer) =>
    api(`${path}/stream`, { key, ...(id !== undefined && { headers: { "Last-Event-ID": id } }) });
  const get = async () => (await api(path, { key: ours.viewer })).json<Revision>();
  return { deployment, build, sink, write, open, get };
}

const textOf = ({ event, data }: StreamEvent) => (event === "log" ? data.message : data.status);

test("a build is followed line by line, and the stream ends with it", async () => {
  const { build, sink, write, open } = await building();
  const events = eventsOf(await open());
  expect(await nextOf(events)).toMatchObject({ event: "revision", data: { status: "BUILDING" } });
  await write(2);
  expect(textOf(await nextOf(events))).toBe("Line 1");
  expect(textOf(await nextOf(events))).toBe("Line 2");
  const begun = { name: "install" as const, started_at: new Date().toISOString() };
  await sink.log([], { steps: [begun], commit: COMMIT });
  expect(await nextOf(events)).toMatchObject({ event: "revision", data: COMMIT });
  await write(1, "ERROR");
  await advanceBuild(env, build, "BUILD_FAILED", { status_reason: "bundle_failed" });
  const rest = await listOf(events);
  expect(rest.map(textOf)).toEqual(["Line 3", "BUILD_FAILED"]);
  expect(rest[1]?.data.error_log_id).toBe(rest[0]?.data.id);
});

test("a stream resumes after any event: it repeats nothing and loses nothing", async () => {
  const { build, write, open } = await building();
  const first = eventsOf(await open());
  const seen = [await nextOf(first)];
  await write(1);
  seen.push(await nextOf(first));
  await first.return(undefined);
  await write(3);
  await advanceBuild(env, build, "BUILD_FAILED", { status_reason: "bundle_failed" });
  const rest = await listOf(eventsOf(await open(seen.at(-1)?.id)));
  const all = [...seen, ...rest];
  const expected = ["BUILDING", "Line 1", "Line 2", "Line 3", "Line 4", "BUILD_FAILED"];
  expect(all.map(textOf)).toEqual(expected);
  for (const [at, { id }] of all.slice(1, -1).entries()) {
    const resumed = await listOf(eventsOf(await open(id)));
    expect(resumed.map(textOf)).toEqual(expected.slice(at + 2));
  }
  expect((await open(all.at(-1)?.id)).status).toBe(204);
});

test("a log of many pages arrives whole, in order, and before the end", async () => {
  const { build, write, open } = await building();
  await write(1203);
  await advanceBuild(env, build, "BUILD_FAILED", { status_reason: "internal" });
  const events = await listOf(eventsOf(await open()));
  const lines = Array.from({ length: 1203 }, (_, at) => `Line ${at + 1}`);
  expect(events.map(textOf)).toEqual([...lines, "BUILD_FAILED"]);
});

test("a written line wakes the streams of its deployment", async () => {
  const { deployment, write } = await building();
  const log = agentLog(env, deployment.id);
  const version = await log.waitForChange(null, 0);
  expect(await log.waitForChange(version, 1)).toBe(version);
  const changed = log.waitForChange(version, 600_000);
  await write(1);
  expect(await changed).not.toBe(version);
});

test("a stream is refused to another workspace and for an unknown event id", async () => {
  const { open } = await building();
  expect((await open(undefined, theirs.admin)).status).toBe(404);
  const refused = await open("12-xyz");
  expect(refused.status).toBe(422);
  expect(await refused.text()).toContain("must be the id of an event of this stream");
});

test("a revision has its commit, its trigger and the steps of its build", async () => {
  const { build, sink, get } = await building();
  const at = (name: "install" | "bundle") => ({ name, started_at: new Date().toISOString() });
  await sink.log([], { steps: [at("install")], commit: COMMIT });
  const statuses = async () => (await get()).steps.map(({ status }) => status);
  const pending = ["pending", "pending", "pending"];
  expect(await statuses()).toEqual(["success", "success", "running", ...pending]);
  await sink.log([], { steps: [at("bundle")], commit: null });
  await recordArtifact(env, build, { artifact_key: "artifacts/none.json", artifact_bytes: 1 });
  await advanceBuild(env, build, "AWAITING_DEPLOY", {}, "deploy");
  await advanceBuild(env, build, "DEPLOYING");
  await activateBuild(env, build);
  const revision = await get();
  expect(revision).toMatchObject({ ...COMMIT, trigger: "api", error_log_id: null });
  expect(revision.steps.map(({ name, status }) => `${name} ${status}`)).toEqual(
    ["queue", "fetch", "install", "bundle", "load", "deploy"].map((name) => `${name} success`),
  );
  for (const [index, { ended_at, duration_ms }] of revision.steps.entries()) {
    expect(ended_at).toBe(revision.steps[index + 1]?.started_at ?? revision.updated_at);
    expect(duration_ms).toBeGreaterThanOrEqual(0);
  }
});

test("a build's own report of its progress is checked", async () => {
  const { sink, get } = await building();
  const wrong = { steps: [{ name: "deploy", started_at: "now" }], commit: { sha: "x" } };
  await sink.log([{ level: "INFO", message: "x", timestamp: "2026-11-20T12:00:00.000Z" }], wrong);
  const { steps, repo_commit_sha } = await get();
  expect(repo_commit_sha).toBeNull();
  expect(steps.map(({ status }) => status).slice(0, 3)).toEqual(["success", "running", "pending"]);
});
