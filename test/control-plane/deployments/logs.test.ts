import { env } from "cloudflare:workers";
import { afterEach, beforeAll, expect, test } from "vitest";
import { LogSink } from "../../../src/control-plane/builds/queue/log-sink.ts";
import { claimBuild } from "../../../src/control-plane/deployments/rollout/build-claim-service.ts";
import { advanceBuild } from "../../../src/control-plane/deployments/rollout/build-service.ts";
import { deploymentRow, releaseBuilds, revisionRow } from "../../support/deployment.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Page = { logs: { id: string; level: string; message: string }[]; next_offset: string | null };

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});
afterEach(releaseBuilds);

const LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR"] as const;

async function building(count: number) {
  const deployment = await deploymentRow(ours.workspace_id);
  const revision = await revisionRow(deployment);
  const build = await claimBuild(env, revision.id, new Date());
  if (!build) throw new Error("The revision cannot be claimed");
  const lines = Array.from({ length: count }, (_, at) => ({
    level: LEVELS[at % LEVELS.length] ?? "INFO",
    message: `Line ${at}`,
    timestamp: `2026-11-20T12:00:0${at}.000Z`,
  }));
  await new LogSink(env, build).log(lines);
  const path = `/v1/projects/${deployment.id}/revisions/${revision.id}/build_logs`;
  const read = async (json: unknown) => {
    const response = await api(path, { key: ours.viewer, json });
    expect(response.status).toBe(200);
    return response.json<Page>();
  };
  return { build, path, read };
}

const messages = ({ logs }: Page) => logs.map(({ message }) => message);

test("a log is followed to its end: the offset moves with the lines and ends with the build", async () => {
  const { build, read } = await building(3);
  const first = await read({ order: "asc", limit: 2 });
  expect(messages(first)).toEqual(["Line 0", "Line 1"]);
  const second = await read({ order: "asc", limit: 2, offset: first.next_offset });
  expect(messages(second)).toEqual(["Line 2"]);
  const nothing_new = await read({ order: "asc", limit: 2, offset: second.next_offset });
  expect(nothing_new).toEqual({ logs: [], next_offset: second.next_offset });
  await advanceBuild(env, build, "BUILD_FAILED");
  expect(await read({ limit: 2, offset: second.next_offset })).toEqual({
    logs: [],
    next_offset: null,
  });
});

test("a log is read backwards and narrowed by level, text and time", async () => {
  const { read } = await building(6);
  const newest = await read({ order: "desc", limit: 4 });
  expect(messages(newest)).toEqual(["Line 5", "Line 4", "Line 3", "Line 2"]);
  const rest = await read({ order: "desc", limit: 4, offset: newest.next_offset });
  expect([messages(rest), rest.next_offset]).toEqual([["Line 1", "Line 0"], null]);
  expect(messages(await read({ level: "ERROR" }))).toEqual(["Line 3"]);
  expect(messages(await read({ query: "line 4" }))).toEqual(["Line 4"]);
  const window = { start_time: "2026-11-20T12:00:01Z", end_time: "2026-11-20T13:00:03+01:00" };
  expect(messages(await read(window))).toEqual(["Line 1", "Line 2"]);
  expect(messages(await read({}))).toHaveLength(6);
});

test.each([
  [{ offset: "abc" }, "Invalid or expired offset"],
  [{ limit: 0 }, "limit"],
  [{ limit: 1001 }, "limit"],
  [{ order: "up" }, "order"],
  [{ level: "LOUD" }, "level"],
  [{ query: "x".repeat(1001) }, "query"],
  [{ start_time: "yesterday" }, "start_time"],
])("%j is refused", async (json, text) => {
  const { path } = await building(1);
  const response = await api(path, { key: ours.viewer, json });
  expect(response.status).toBe(422);
  expect(await response.text()).toContain(text);
});

test("a log without lines has an offset until its build ends, so that it is read again", async () => {
  const { build, read } = await building(0);
  const empty = await read({ order: "asc" });
  expect(empty).toEqual({ logs: [], next_offset: "0" });
  await advanceBuild(env, build, "BUILD_FAILED");
  expect(await read({ order: "asc", offset: empty.next_offset })).toEqual({
    logs: [],
    next_offset: null,
  });
});
