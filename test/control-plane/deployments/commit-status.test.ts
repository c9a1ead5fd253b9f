import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type {
  BuildOrder,
  BuildOutcome,
  BuildSink,
} from "../../../src/control-plane/builds/contract.ts";
import { consumeBuild } from "../../../src/control-plane/builds/queue/consumer.ts";
import { answerHost } from "../../support/answer-host.ts";
import { deploymentRow, type RevisionFields, revisionRow } from "../../support/deployment.ts";
import { holdBuilds } from "../../support/held-builds.ts";
import { api, workspace } from "../../support/workspace.ts";

holdBuilds();

const API_URL = "https://git.example.com/api/v1";
const PUSHED = "a".repeat(40);
const BUILT = "b".repeat(40);
const FAILED = { ok: false, reason: "bundle_failed", message: "no bundle" } as const;

type Report = { sha: string; state: string };
let reports: Report[];
let host: () => Response;

beforeEach(() => {
  reports = [];
  host = () => new Response("{}", { status: 201 });
  answerHost("git.example.com", async (request) => {
    const { state } = await request.json<{ state: string }>();
    reports.push({ sha: request.url.slice(request.url.lastIndexOf("/") + 1), state });
    return host();
  });
});
afterEach(() => void vi.restoreAllMocks());

async function pushed(fields: RevisionFields = {}) {
  const { workspace_id, admin: key } = await workspace();
  const json = { name: "main", token: "t", api_url: API_URL };
  const made = await api("/v1/integrations/github/install", { key, json });
  const { id: integration_id } = await made.json<{ id: string }>();
  const source_config = { integration_id, repo_url: "https://git.example.com/acme/agent" };
  const deployment = await deploymentRow(workspace_id, { source_config });
  return revisionRow(deployment, { trigger: "push", repo_commit_sha: PUSHED, ...fields });
}

/** A builder that answers with an outcome after the fetch of a commit, and the environment that has it. */
function builderOf(outcome: BuildOutcome) {
  const build = vi.fn(async (_order: BuildOrder, sink: BuildSink): Promise<BuildOutcome> => {
    const described = { repo_commit_message: null, repo_commit_authored_at: null };
    const commit = { repo_commit_sha: BUILT, ...described };
    await sink.log([], { steps: [], commit });
    return outcome;
  });
  const withBuilder = { ...env, BUILDER: { build } } as unknown as Env;
  return { build, withBuilder };
}

test("a push whose branch has a newer commit leaves no commit pending", async () => {
  const revision = await pushed();
  const { withBuilder } = builderOf(FAILED);
  await consumeBuild(withBuilder, { revision_id: revision.id });
  expect(reports).toEqual([
    { sha: BUILT, state: "pending" },
    { sha: BUILT, state: "failure" },
  ]);
});

test("a next attempt builds the commit of the first, which is reported as pending", async () => {
  const revision = await pushed();
  const { build, withBuilder } = builderOf({ ...FAILED, is_transient: true });
  const message = { revision_id: revision.id };
  await expect(consumeBuild(withBuilder, message)).rejects.toThrow("no bundle");
  await expect(consumeBuild(withBuilder, message)).rejects.toThrow("no bundle");
  const sources = build.mock.calls.map(([{ source }]) => source);
  expect(sources).toMatchObject([{ repo_ref: "main" }, { repo_ref: BUILT }]);
});

test("the attempt after one that fetched nothing reads the branch again", async () => {
  const revision = await pushed();
  const { build, withBuilder } = builderOf({ ...FAILED, is_transient: true });
  build.mockResolvedValueOnce({ ...FAILED, is_transient: true });
  const message = { revision_id: revision.id };
  const sources = () => build.mock.calls.map(([{ source }]) => source);
  await expect(consumeBuild(withBuilder, message)).rejects.toThrow("no bundle");
  await expect(consumeBuild(withBuilder, message)).rejects.toThrow("no bundle");
  expect(sources()).toMatchObject([{ repo_ref: "main" }, { repo_ref: "main" }]);
  await consumeBuild(withBuilder, message).catch(() => undefined);
  expect(sources().at(2)).toMatchObject({ repo_ref: BUILT });
});

test("the end of a build is reported again until the host accepts it", async () => {
  const revision = await pushed({ status: "BUILD_FAILED" });
  const sent = vi.spyOn(env.BUILDS, "sendBatch").mockResolvedValue({ metadata: {} } as never);
  host = () => new Response("", { status: 503 });
  await consumeBuild(env, { revision_id: revision.id });
  const body = { type: "build", revision_id: revision.id, reports: 1 };
  expect(sent.mock.calls).toEqual([[[{ body }], { delaySeconds: 30 }]]);
  await consumeBuild(env, body);
  expect(sent.mock.calls[1]?.[1]).toEqual({ delaySeconds: 120 });
  host = () => new Response("{}", { status: 201 });
  await consumeBuild(env, { ...body, reports: 2 });
  expect(reports).toHaveLength(3);
  expect(sent).toHaveBeenCalledTimes(2);
});

test.each([0, 1])("report %i leaves the status of a newer revision of the commit", async (n) => {
  const revision = await pushed({ status: "BUILD_FAILED" });
  const deployment = { id: revision.deployment_id, workspace_id: revision.workspace_id };
  await revisionRow(deployment, { number: 2, repo_commit_sha: PUSHED, status: "DEPLOYED" });
  await consumeBuild(env, { revision_id: revision.id, reports: n });
  expect(reports).toEqual([]);
});

test("a status is reported again although a copy of its revision was deployed at once", async () => {
  const revision = await pushed({ status: "DEPLOYED" });
  const deployment = { id: revision.deployment_id, workspace_id: revision.workspace_id };
  await revisionRow(deployment, { number: 2, repo_commit_sha: PUSHED, status: "DEPLOYED" });
  await consumeBuild(env, { revision_id: revision.id, reports: 1 });
  expect(reports).toEqual([{ sha: PUSHED, state: "success" }]);
});

test.each([
  ["a host that refuses the state", { status: "BUILD_FAILED" as const }, 0, 1],
  ["the last report", { status: "BUILD_FAILED" as const }, 5, 1],
  ["a build that another attempt runs", { status: "BUILDING" as const }, 0, 0],
])("%s is not reported again", async (_, fields, reported, posts) => {
  const lease_expires_at = fields.status === "BUILDING" ? "2099-01-01T00:00:00.000Z" : null;
  const revision = await pushed({ ...fields, lease_expires_at });
  const sent = vi.spyOn(env.BUILDS, "sendBatch").mockResolvedValue({ metadata: {} } as never);
  host = () => new Response("", { status: reported > 0 ? 503 : 403 });
  await consumeBuild(env, { revision_id: revision.id, reports: reported });
  expect(reports).toHaveLength(posts);
  expect(sent).not.toHaveBeenCalled();
});
