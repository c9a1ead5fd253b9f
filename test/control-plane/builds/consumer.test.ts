import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Artifact, CONTRACT } from "../../../src/control-plane/builds/contract.ts";
import { LOG_BYTES, REQUEST_ATTEMPTS } from "../../../src/control-plane/builds/limits.ts";
import { consumeBuild, consumePrebuild } from "../../../src/control-plane/builds/queue/consumer.ts";
import { deployArtifact } from "../../../src/control-plane/builds/queue/deploy.ts";
import { LogSink } from "../../../src/control-plane/builds/queue/log-sink.ts";
import { activeRevision } from "../../../src/control-plane/deployments/api/service.ts";
import {
  openIsolate,
  setIsolateOpener,
} from "../../../src/control-plane/deployments/isolate/isolate.ts";
import { readRevisionCode } from "../../../src/control-plane/deployments/isolate/revision-code.ts";
import { agentLog } from "../../../src/control-plane/deployments/logs/agent-log.ts";
import { build_logs } from "../../../src/control-plane/deployments/logs/table.ts";
import {
  claimBuild,
  MAX_ATTEMPTS,
  QUARANTINE_MS,
  sendNextBuild,
} from "../../../src/control-plane/deployments/rollout/build-claim-service.ts";
import {
  activateBuild,
  advanceBuild,
  LEASE_MS,
  type RevisionBuild,
  recordArtifact,
  releaseLease,
  renewLease,
} from "../../../src/control-plane/deployments/rollout/build-service.ts";
import { sweepBuilds } from "../../../src/control-plane/deployments/rollout/sweep.ts";
import { writeSecrets } from "../../../src/control-plane/deployments/secrets.ts";
import {
  deployments,
  integrations,
  revisions,
} from "../../../src/control-plane/deployments/table.ts";
import { database } from "../../../src/shared/context.ts";
import { AppError } from "../../../src/shared/errors.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { LeaseLost } from "../../../src/shared/work/lease.ts";
import { answerHost } from "../../support/answer-host.ts";
import {
  DESCRIPTORS,
  deploymentRow,
  putArtifact,
  type RevisionFields,
  releaseBuilds,
  revisionRow,
  systemContext,
} from "../../support/deployment.ts";
import { privateKeyPem } from "../../support/private-key.ts";
import { api, workspace } from "../../support/workspace.ts";

const NOW = new Date("2026-11-20T12:00:00.000Z");
const later = (ms: number) => new Date(NOW.getTime() + ms);
const db = database(env);

async function waiting(fields: RevisionFields = {}) {
  const id = newId();
  const deployment = await deploymentRow(newId(), { latest_revision_id: id });
  return { deployment, revision: await revisionRow(deployment, { id, ...fields }) };
}

async function readRevision(id: string) {
  const [row] = await db.select().from(revisions).where(eq(revisions.id, id));
  if (!row) throw new Error(`No revision ${id}`);
  return row;
}

async function activeOf(deployment_id: string) {
  const [row] = await db.select().from(deployments).where(eq(deployments.id, deployment_id));
  return row?.active_revision_id;
}

async function claimed(revision_id: string, now = NOW): Promise<RevisionBuild> {
  const build = await claimBuild(env, revision_id, now);
  if (!build) throw new Error(`Revision ${revision_id} cannot be claimed`);
  return build;
}

function linesOf(revision_id: string) {
  return db.select().from(build_logs).where(eq(build_logs.revision_id, revision_id));
}

// The second attempt of a build that was lost waits for all others, also for those of other files.
beforeEach(releaseBuilds);
afterEach(releaseBuilds);

describe("a lease", () => {
  test("is held by one attempt at a time, and by the next once it has expired", async () => {
    const { revision } = await waiting();
    const first = await claimed(revision.id);
    expect(first).toMatchObject({ status: "BUILDING", attempt: 1, source_config: {} });
    expect(await claimBuild(env, revision.id, later(LEASE_MS - 1))).toBeNull();
    expect((await claimed(revision.id, later(LEASE_MS))).attempt).toBe(2);
  });

  test("lasts as long as it is renewed, and not beyond the attempt", async () => {
    const { revision } = await waiting();
    const first = await claimed(revision.id);
    expect(await renewLease(env, first, later(10_000))).toBe(true);
    expect(await claimBuild(env, revision.id, later(LEASE_MS))).toBeNull();
    const second = await claimed(revision.id, later(10_000 + LEASE_MS));
    expect(await renewLease(env, first, later(10_000 + LEASE_MS))).toBe(false);
    expect(await renewLease(env, second, later(10_000 + LEASE_MS))).toBe(true);
  });

  test("fences: an older attempt can neither log nor record nor finish", async () => {
    const { deployment, revision } = await waiting();
    const older = await claimed(revision.id);
    const newer = await claimed(revision.id, later(LEASE_MS));
    const line = { level: "INFO", message: "late", timestamp: NOW.toISOString() } as const;
    await expect(new LogSink(env, older).log([line])).rejects.toThrow(LeaseLost);
    await expect(recordArtifact(env, older, { artifact_key: "a" })).rejects.toThrow(LeaseLost);
    await expect(advanceBuild(env, older, "BUILD_FAILED")).rejects.toThrow(LeaseLost);
    await advanceBuild(env, newer, "AWAITING_DEPLOY");
    await advanceBuild(env, newer, "DEPLOYING");
    await expect(activateBuild(env, older)).rejects.toThrow(LeaseLost);
    expect(await activeOf(deployment.id)).toBeNull();
    await activateBuild(env, newer);
    expect(await activeOf(deployment.id)).toBe(revision.id);
    expect(await linesOf(revision.id)).toEqual([]);
    expect((await readRevision(revision.id)).artifact_key).toBeNull();
  });

  test("released leaves the revision to the next attempt at once", async () => {
    const { revision } = await waiting();
    await releaseLease(env, await claimed(revision.id));
    expect((await claimed(revision.id)).attempt).toBe(2);
  });

  test("of the last attempt ends the revision with its reason when it is given up", async () => {
    const { revision } = await waiting({ status: "BUILDING", attempt: MAX_ATTEMPTS });
    expect(await claimBuild(env, revision.id, NOW)).toBeNull();
    expect(await readRevision(revision.id)).toMatchObject({
      status: "BUILD_FAILED",
      status_reason: "internal",
      status_message: expect.stringContaining("failed 3 times because of a platform error"),
    });
  });
});

test("a workspace builds two revisions at once, and the end of one sends the next", async () => {
  const workspace_id = newId();
  const revisionOf = async () => revisionRow(await deploymentRow(workspace_id));
  const [first, second, third] = [await revisionOf(), await revisionOf(), await revisionOf()];
  const build = await claimed(first.id);
  await claimed(second.id);
  expect(await claimBuild(env, third.id, NOW)).toBeNull();
  expect(await readRevision(third.id)).toMatchObject({ status: "AWAITING_BUILD", attempt: 0 });
  const { revision: of_other } = await waiting();
  await claimed(of_other.id);
  await advanceBuild(env, build, "BUILD_FAILED");
  const sent = vi.spyOn(env.BUILDS, "sendBatch");
  await sendNextBuild(env, build, NOW);
  expect(sent.mock.calls[0]?.[0]).toEqual([{ body: { type: "build", revision_id: third.id } }]);
  sent.mockRestore();
  expect((await claimed(third.id)).attempt).toBe(1);
});

describe("a build that ends its process", () => {
  const LOST = {
    status: "BUILD_FAILED",
    status_reason: "internal",
    status_message: expect.stringContaining("crashed twice"),
    attempt: 2,
    lost_attempts: 2,
  };

  test("is tried once more, and has failed after that", async () => {
    const { revision } = await waiting();
    await claimed(revision.id);
    const second = await claimed(revision.id, later(LEASE_MS));
    expect(second).toMatchObject({ attempt: 2, lost_attempts: 1 });
    expect(await claimBuild(env, revision.id, later(2 * LEASE_MS))).toBeNull();
    expect(await readRevision(revision.id)).toMatchObject(LOST);
  });

  test("waits for other builds before its second attempt, for a limited time", async () => {
    const { revision } = await waiting();
    const other = await waiting();
    await claimed(revision.id);
    const beside = await claimed(other.revision.id, later(LEASE_MS));
    expect(await claimBuild(env, revision.id, later(LEASE_MS))).toBeNull();
    await advanceBuild(env, beside, "BUILD_FAILED");
    expect((await claimed(revision.id, later(LEASE_MS))).attempt).toBe(2);
    const { revision: patient } = await waiting();
    await claimed(patient.id);
    const busy = later(LEASE_MS + QUARANTINE_MS);
    await claimed((await waiting()).revision.id, busy);
    expect(await claimBuild(env, patient.id, later(LEASE_MS))).toBeNull();
    expect((await claimed(patient.id, busy)).lost_attempts).toBe(1);
  });

  test("is not confused with a failure that was reported", async () => {
    const { revision } = await waiting();
    await releaseLease(env, await claimed(revision.id));
    await releaseLease(env, await claimed(revision.id));
    expect(await claimed(revision.id)).toMatchObject({ attempt: 3, lost_attempts: 0 });
  });

  test("or only its isolate is tried once more too", async () => {
    const { revision } = await waiting();
    const build = vi.spyOn(env.BUILDER, "build");
    build.mockRejectedValue(new Error("Worker exceeded memory limit."));
    await expect(consumeBuild(env, { revision_id: revision.id })).rejects.toThrow("isolate ended");
    await consumeBuild(env, { revision_id: revision.id });
    build.mockRestore();
    expect(await readRevision(revision.id)).toMatchObject(LOST);
  });
});

test("a build whose deployment is deleted ends without an error in the log", async () => {
  const { deployment, revision } = await waiting();
  const lose = async (): Promise<never> => {
    await db
      .update(deployments)
      .set({ status: "AWAITING_DELETE" })
      .where(eq(deployments.id, deployment.id));
    await db
      .update(revisions)
      .set({ status: "INTERRUPTED", lease_expires_at: null })
      .where(eq(revisions.id, revision.id));
    throw new Error("Attempt 1 lost its lease");
  };
  const build = vi.spyOn(env.BUILDER, "build").mockImplementation(lose as never);
  const logged = vi.spyOn(console, "error");
  await consumeBuild(env, { revision_id: revision.id });
  expect(logged).not.toHaveBeenCalled();
  expect(await readRevision(revision.id)).toMatchObject({ status: "INTERRUPTED", attempt: 1 });
  build.mockRestore();
  logged.mockRestore();
});

test("versions that a build lacked are prebuilt after its deployment", async () => {
  const { revision } = await waiting();
  const artifact_key = await putArtifact();
  const lacking = [{ name: "zod", version: "4.6.6" }];
  const config = { raw: { graphs: {} }, env: {} };
  const outcome = { ok: true, artifact_key, artifact_bytes: 9, repo_commit_sha: null, config };
  const build = vi.spyOn(env.BUILDER, "build").mockResolvedValue({ ...outcome, lacking } as never);
  const statuses: string[] = [];
  const send = vi.spyOn(env.BUILDS, "sendBatch").mockImplementation(async (messages) => {
    statuses.push((await readRevision(revision.id)).status);
    expect([...messages]).toEqual([{ body: { type: "prebuild", ...lacking[0] } }]);
    return { metadata: {} } as never;
  });
  await consumeBuild(env, { revision_id: revision.id });
  expect(statuses).toEqual(["DEPLOYED"]);
  build.mockRestore();
  send.mockRestore();
});

test("a version that cannot be prebuilt is logged and not tried again, and the others follow", async () => {
  const prebuild = vi
    .spyOn(env.BUILDER, "prebuild")
    .mockRejectedValue(new Error("no such version"));
  const logged = vi.spyOn(console, "error");
  const sent = vi.spyOn(env.BUILDS, "sendBatch");
  const other = { name: "zod", version: "4.6.7" };
  await consumePrebuild(env, { versions: [{ name: "zod", version: "4.6.6" }, other] });
  expect(sent.mock.calls).toEqual([
    [[{ body: { type: "prebuild", versions: [other] } }], { delaySeconds: 0 }],
  ]);
  sent.mockRestore();
  expect(String(logged.mock.calls[0])).toContain("prebuild_failed");
  prebuild.mockRestore();
  logged.mockRestore();
});

describe("before it begins, a revision", () => {
  test("that is overtaken by a newer one is skipped", async () => {
    const { deployment, revision } = await waiting();
    const newer = await revisionRow(deployment, { number: 2 });
    await consumeBuild(env, { revision_id: revision.id });
    expect(await readRevision(revision.id)).toMatchObject({
      status: "SKIPPED",
      status_reason: "overtaken",
      attempt: 0,
    });
    expect((await claimed(newer.id)).attempt).toBe(1);
  });

  test("that is skipped wakes the streams of its deployment", async () => {
    const { deployment, revision } = await waiting();
    await revisionRow(deployment, { number: 2 });
    const log = agentLog(env, deployment.id);
    const version = await log.waitForChange(null, 0);
    expect(await claimBuild(env, revision.id, NOW)).toBeNull();
    expect(await log.waitForChange(version, 0)).not.toBe(version);
  });

  test("that builds already continues when a newer one is created", async () => {
    const { deployment, revision } = await waiting();
    await claimed(revision.id);
    await revisionRow(deployment, { number: 2 });
    expect((await claimed(revision.id, later(LEASE_MS))).attempt).toBe(2);
  });

  test("whose deployment is being deleted is interrupted", async () => {
    const deployment = await deploymentRow(newId(), { status: "AWAITING_DELETE" });
    const revision = await revisionRow(deployment);
    await consumeBuild(env, { revision_id: revision.id });
    expect((await readRevision(revision.id)).status).toBe("INTERRUPTED");
  });

  test("that does not exist is acknowledged", async () => {
    await consumeBuild(env, { revision_id: newId() });
  });
});

describe("a build", () => {
  test("that the builder refuses is BUILD_FAILED with its reason and its log", async () => {
    const deployment = await deploymentRow(newId(), {
      source_config: { repo_url: "http://127.0.0.1:9/acme/agent.git", deployment_type: "dev" },
    });
    const revision = await revisionRow(deployment);
    await consumeBuild(env, { revision_id: revision.id });
    const row = await readRevision(revision.id);
    expect(row).toMatchObject({
      status: "BUILD_FAILED",
      status_reason: "source_unavailable",
      status_message: expect.stringContaining("127.0.0.1:9"),
      attempt: 1,
      lease_expires_at: null,
    });
    const lines = await linesOf(revision.id);
    expect(lines.at(-1)).toMatchObject({ level: "ERROR", message: row.status_message });
    await consumeBuild(env, { revision_id: revision.id });
    expect(await readRevision(revision.id)).toEqual(row);
  });

  test("whose artifact is stored is loaded, deployed and active; a second message changes nothing", async () => {
    const { deployment, revision } = await waiting({ artifact_key: await putArtifact() });
    await consumeBuild(env, { revision_id: revision.id });
    const row = await readRevision(revision.id);
    expect(row).toMatchObject({
      status: "DEPLOYED",
      status_reason: null,
      graphs: ["agent"],
      descriptors: DESCRIPTORS,
      lease_expires_at: null,
    });
    await consumeBuild(env, { revision_id: revision.id });
    expect(await readRevision(revision.id)).toEqual(row);
    const ctx = systemContext(deployment.workspace_id);
    expect(await activeRevision(ctx, deployment.id)).toMatchObject({
      revision_id: revision.id,
      graphs: ["agent"],
    });
  });

  test("two messages at once make one attempt", async () => {
    const { revision } = await waiting({ artifact_key: await putArtifact() });
    const message = { revision_id: revision.id };
    await Promise.all([consumeBuild(env, message), consumeBuild(env, message)]);
    expect(await readRevision(revision.id)).toMatchObject({ status: "DEPLOYED", attempt: 1 });
  });

  test("of an older revision that ends last does not replace a newer one", async () => {
    const artifact_key = await putArtifact();
    const { deployment, revision } = await waiting({ artifact_key });
    const older = await claimed(revision.id, new Date());
    const newer = await revisionRow(deployment, { number: 2, artifact_key });
    await consumeBuild(env, { revision_id: newer.id });
    await deployArtifact(env, older);
    expect((await readRevision(revision.id)).status).toBe("DEPLOYED");
    expect(await activeOf(deployment.id)).toBe(newer.id);
  });

  test.each<[string, string, string]>([
    ["does not parse", "export class {", "Failed to start Worker"],
    ["throws when it is loaded", 'throw new Error("no model");', "no model"],
    ["exports no agent", "export default {};", "Agent"],
    [
      "cannot load its graph",
      `import { WorkerEntrypoint } from "cloudflare:workers";
       export class Agent extends WorkerEntrypoint {
         describe() {
           return { ok: false, error: { error: "TypeError", message: "graph is not a graph", stack: "TypeError: graph is not a graph\\n    at agent.ts:3:1" } };
         }
       }`,
      "graph is not a graph",
    ],
    [
      "describes itself by references that are gigabytes of JSON",
      describing("[{ ...GRAPH, schemas: { input: shared(40) } }]"),
      "has more than 200000 values",
    ],
  ])("whose code %s is BUILD_FAILED with the cause", async (_, source, cause) => {
    const { deployment, revision } = await waiting({ artifact_key: await putArtifact(source) });
    await consumeBuild(env, { revision_id: revision.id });
    expect(await readRevision(revision.id)).toMatchObject({
      status: "BUILD_FAILED",
      status_reason: "graph_load_failed",
      status_message: expect.stringContaining(cause),
    });
    const lines = await linesOf(revision.id);
    expect(lines.at(-1)).toMatchObject({ level: "ERROR", message: expect.stringContaining(cause) });
    expect(await activeOf(deployment.id)).toBeNull();
  });
});

describe("the load check of an agent", () => {
  const isQuarantined: boolean[] = [];
  let losses = 0;

  beforeEach(() => {
    isQuarantined.length = 0;
    losses = 0;
    setIsolateOpener((given, call) => {
      isQuarantined.push(call.ref.quarantine !== undefined);
      const agent = openIsolate(given.LOADER, call, () => readRevisionCode(given, call.ref));
      const lose = () => Promise.reject(new Error("The process of the agents ended."));
      return losses-- > 0 ? Object.assign(Object.create(agent), { describe: lose }) : agent;
    });
  });

  afterEach(() => setIsolateOpener(null));

  test("runs once more in quarantine after its isolate is lost", async () => {
    losses = 1;
    const { revision } = await waiting({ artifact_key: await putArtifact() });
    await consumeBuild(env, { revision_id: revision.id });
    expect((await readRevision(revision.id)).status).toBe("DEPLOYED");
    expect(isQuarantined).toEqual([false, true]);
  });

  test("is made again when the code of the agent could not be read", async () => {
    const outage = () => Promise.reject(new AppError("unavailable", "The storage is down."));
    setIsolateOpener((given, call) => {
      const agent = openIsolate(given.LOADER, call, () => readRevisionCode(given, call.ref));
      return Object.assign(Object.create(agent), { describe: outage });
    });
    const { revision } = await waiting({ artifact_key: await putArtifact() });
    const build = () => consumeBuild(env, { revision_id: revision.id });
    await expect(build()).rejects.toThrow("The storage is down.");
    expect((await readRevision(revision.id)).status_reason).toBeNull();
    setIsolateOpener(null);
    await build();
    expect((await readRevision(revision.id)).status).toBe("DEPLOYED");
  });

  test.each([
    ["does not parse", "export class {"],
    ["throws when it is loaded", 'throw new Error("no model");'],
    ["exports no agent", "export default {};"],
  ])("loads code that %s once", async (_, source) => {
    const { revision } = await waiting({ artifact_key: await putArtifact(source) });
    await consumeBuild(env, { revision_id: revision.id });
    expect((await readRevision(revision.id)).status_reason).toBe("graph_load_failed");
    expect(isQuarantined).toEqual([false]);
  });
});

test("a load error names the file and the line of the repository", async () => {
  const source = `function connect() {\n  throw new Error("MY_KEY is not set");\n}\nconnect();`;
  const artifact_key = await putArtifact(source);
  const map = {
    sources: ["src/key.ts", "src/agent.ts"],
    sourcesContent: [`\n\n\n\tthrow new Error("MY_KEY is not set");`, "connect();"],
    // Line 2, column 2 is line 4, column 1 of key.ts. Line 4 is line 1 of agent.ts.
    mappings: ";EAGC;;ACHD",
  };
  await env.ARTIFACTS.put(artifact_key.replace(".json", ".map.json"), JSON.stringify(map));
  const { revision } = await waiting({ artifact_key });
  await consumeBuild(env, { revision_id: revision.id });
  const { status_message } = await readRevision(revision.id);
  expect(status_message).toContain("MY_KEY is not set");
  expect(status_message).toContain("src/key.ts:4:2 in connect");
  expect(status_message).toContain("src/agent.ts:1:1");
  expect(status_message).not.toContain("main.js");
  const excerpt = `src/key.ts:4:2\n    \tthrow new Error("MY_KEY is not set");\n    \t^`;
  expect(status_message?.endsWith(`\n\n${excerpt}`)).toBe(true);
});

test("a header of webhooks whose variable has no value is BUILD_FAILED until it is a secret", async () => {
  const config = {
    webhooks: { headers: { a: `\${{ env.LG_WEBHOOK_A }}\${{ env.LG_WEBHOOK_B }}` } },
  };
  const fields = { artifact_key: await putArtifact(), config, config_env: { LG_WEBHOOK_A: "1" } };
  const { deployment, revision } = await waiting(fields);
  await consumeBuild(env, { revision_id: revision.id });
  const { status_message, ...row } = await readRevision(revision.id);
  expect(row).toMatchObject({ status: "BUILD_FAILED", status_reason: "config_invalid" });
  expect(status_message).toContain("names env.LG_WEBHOOK_B, which has no value");
  expect((await linesOf(revision.id)).at(-1)?.message).toBe(status_message);
  const ctx = systemContext(deployment.workspace_id);
  const secret = { name: "LG_WEBHOOK_B", value: "2" };
  for (const statement of await writeSecrets(ctx, deployment.id, { all: [secret] }, "2026")) {
    await statement;
  }
  const next = await revisionRow(deployment, { ...fields, number: 2 });
  await consumeBuild(env, { revision_id: next.id });
  expect((await readRevision(next.id)).status).toBe("DEPLOYED");
});

test("an artifact of a newer contract is BUILD_FAILED with the remedy", async () => {
  const artifact_key = await putArtifact();
  const artifact = await (await env.ARTIFACTS.get(artifact_key))?.json<Artifact>();
  await env.ARTIFACTS.put(artifact_key, JSON.stringify({ ...artifact, contract: CONTRACT + 1 }));
  const { revision } = await waiting({ artifact_key });
  await consumeBuild(env, { revision_id: revision.id });
  const { status_message, ...row } = await readRevision(revision.id);
  expect(row).toMatchObject({ status: "BUILD_FAILED", status_reason: "graph_load_failed" });
  expect(status_message).toContain(`built by a newer Heddle (contract ${CONTRACT + 1};`);
  expect(status_message).toContain("upgrade Heddle, or create a new revision");
});

test("a long load error of an agent is cut", async () => {
  const source = 'throw new Error("x".repeat(3_000_000));';
  const { revision } = await waiting({ artifact_key: await putArtifact(source) });
  await consumeBuild(env, { revision_id: revision.id });
  const { status, status_message } = await readRevision(revision.id);
  expect([status, status_message?.length]).toEqual(["BUILD_FAILED", 8000]);
  expect((await linesOf(revision.id)).at(-1)?.message).toHaveLength(8000);
});

test("the log of an attempt is cut at 2 MB, and the build keeps its lease", async () => {
  const { revision } = await waiting();
  const build = await claimed(revision.id, new Date());
  const sink = new LogSink(env, build);
  const line = { level: "INFO", timestamp: NOW.toISOString() } as const;
  const message = "\u{1f600}".repeat(4000);
  for (let batch = 0; batch < 15; batch++) {
    await sink.log(Array.from({ length: 10 }, () => ({ ...line, message })));
  }
  const lines = await linesOf(revision.id);
  expect(lines).toHaveLength(Math.floor(LOG_BYTES / 16_000) + 1);
  expect(lines.at(-1)).toMatchObject({
    level: "WARNING",
    message: "The log is cut here: the log of an attempt has at most 20000 lines and 2.1 MB.",
  });
  expect(await renewLease(env, build, new Date())).toBe(true);
});

test("the log of an attempt is cut after 20,000 lines", async () => {
  const { revision } = await waiting();
  const sink = new LogSink(env, await claimed(revision.id, new Date()));
  const line = { level: "INFO", message: "a", timestamp: NOW.toISOString() } as const;
  for (let batch = 0; batch < 3; batch++) await sink.log(Array.from({ length: 9000 }, () => line));
  const lines = await linesOf(revision.id);
  expect(lines).toHaveLength(20_001);
  expect(lines.at(-1)?.message).toContain("The log is cut here");
});

test.each([
  [
    "schemas of 3 MB",
    '{ ok: true, value: [{ graph_id: "a", schemas: { input: "x".repeat(3_000_000) } }] }',
    "The nodes and schemas of the graphs have 3.0 MB as JSON; 524 kB are allowed.",
  ],
  [
    "200,000 characters of three bytes each",
    '{ ok: true, value: [{ graph_id: "a", description: "\\u20ac".repeat(200_000) }] }',
    "The nodes and schemas of the graphs have 600 kB",
  ],
  ["a number that JSON lacks", '{ ok: true, value: [{ graph_id: "a", n: 1n }] }', "not JSON"],
  ["no list", "{ ok: true, value: 7 }", "returned no list of graphs"],
  ["no answer", "undefined", "returned no list of graphs"],
  [
    "a failure of 3 MB",
    '{ ok: false, error: { error: "Error", message: "x".repeat(3_000_000), stack: null } }',
    "xxxxx",
  ],
])("an agent whose load check returns %s is BUILD_FAILED at once", async (_, answer, cause) => {
  const source = `import { WorkerEntrypoint } from "cloudflare:workers";
    export class Agent extends WorkerEntrypoint { describe() { return ${answer}; } }`;
  const { revision } = await waiting({ artifact_key: await putArtifact(source) });
  await consumeBuild(env, { revision_id: revision.id });
  const row = await readRevision(revision.id);
  expect(row).toMatchObject({
    status: "BUILD_FAILED",
    status_reason: "graph_load_failed",
    status_message: expect.stringContaining(cause),
    attempt: 1,
    descriptors: null,
  });
  expect(row.status_message?.length).toBeLessThanOrEqual(8000);
});

test("an attempt that breaks off is followed by the next at once, and the last one ends the build", async () => {
  const workspace_id = newId();
  const integration_id = newId();
  await db.insert(integrations).values({
    id: integration_id,
    workspace_id,
    name: "encrypted with a key that is gone",
    api_url: "https://api.github.com",
    key_id: "gone",
    ciphertext: "",
    created_at: NOW.toISOString(),
  });
  const deployment = await deploymentRow(workspace_id, {
    source_config: { integration_id, repo_url: "https://github.com/acme/agent" },
  });
  const revision = await revisionRow(deployment);
  const message = { revision_id: revision.id };
  for (let attempt = 1; attempt < MAX_ATTEMPTS; attempt++) {
    await expect(consumeBuild(env, message)).rejects.toThrow('lacks the key "gone"');
    expect(await readRevision(revision.id)).toMatchObject({ status: "BUILDING", attempt });
  }
  await consumeBuild(env, message);
  expect(await readRevision(revision.id)).toMatchObject({
    status: "BUILD_FAILED",
    status_reason: "internal",
    status_message: expect.stringContaining("failed 3 times"),
    attempt: MAX_ATTEMPTS,
  });
});

describe("the token of an app", () => {
  type Answer = { status: number; headers?: Record<string, string>; body?: string };
  afterEach(() => void vi.restoreAllMocks());

  /** A revision whose git host gives these answers to requests for a token. The last one repeats. */
  async function revisionOfApp(answers: Answer[]) {
    const { workspace_id, admin: key } = await workspace();
    const app = { app_id: "1", installation_id: 7, private_key: await privateKeyPem() };
    const json = { name: "app", api_url: "https://git.example.com/api/v3", app };
    const made = await api("/v1/integrations/github/install", { key, json });
    const { id: integration_id } = await made.json<{ id: string }>();
    const requests = answerHost("git.example.com", () => {
      const { body = "{}", ...init } = answers[requests.length - 1] ?? answers.at(-1) ?? {};
      return new Response(body, init);
    });
    const repo_url = "https://git.example.com/acme/agent";
    const deployment = await deploymentRow(workspace_id, {
      source_config: { integration_id, repo_url },
    });
    return { revision: await revisionRow(deployment), requests };
  }

  test.each<[string, Answer, string, string, number]>([
    ["401", { status: 401 }, "source_unauthorized", "check that the app is installed", 1],
    ["404", { status: 404 }, "source_unauthorized", "answers 404", 1],
    [
      "403 over its rate",
      { status: 403, headers: { "x-ratelimit-remaining": "0" } },
      "source_unavailable",
      "answers 403; try again later",
      REQUEST_ATTEMPTS,
    ],
    ["503", { status: 503 }, "source_unavailable", "answers 503", REQUEST_ATTEMPTS],
  ])("that the host refuses with %s ends the build with the reason", async (_, answer, ...of) => {
    const [status_reason, text, attempts] = of;
    const { revision, requests } = await revisionOfApp([answer]);
    await consumeBuild(env, { revision_id: revision.id });
    const row = await readRevision(revision.id);
    expect(row).toMatchObject({ status: "BUILD_FAILED", status_reason, attempt: 1 });
    expect(row.status_message).toContain("refused a token for installation 7 of app 1");
    expect(row.status_message).toContain(text);
    const lines = await linesOf(revision.id);
    expect(lines).toMatchObject([{ level: "ERROR", message: row.status_message }]);
    expect(requests).toHaveLength(attempts);
  });

  test("is requested again from a host that was down", async () => {
    const body = JSON.stringify({ token: "ghs", expires_at: "2099-01-01T00:00:00Z" });
    const { revision } = await revisionOfApp([{ status: 503 }, { status: 201, body }]);
    const outcome = { ok: false, reason: "bundle_failed", message: "no bundle" };
    const build = vi.spyOn(env.BUILDER, "build").mockResolvedValue(outcome as never);
    await consumeBuild(env, { revision_id: revision.id });
    // The queue may bring a build of another test.
    const orders = build.mock.calls.map(([order]) => order);
    const order = orders.find(({ revision_id }) => revision_id === revision.id);
    expect(order?.source).toMatchObject({ token: "ghs" });
  });
});

describe("the sweep", () => {
  test("sends builds without a lease and without a recent message again, once", async () => {
    const long_ago = later(-LEASE_MS).toISOString();
    const young = later(1 - LEASE_MS).toISOString();
    const lost = await waiting({ sent_at: long_ago });
    const dead = await waiting({
      status: "BUILDING",
      attempt: 1,
      sent_at: long_ago,
      lease_expires_at: NOW.toISOString(),
    });
    const left = [
      await waiting({ sent_at: young }),
      await waiting({
        status: "BUILDING",
        attempt: 1,
        sent_at: long_ago,
        lease_expires_at: later(1).toISOString(),
      }),
      await waiting({ status: "DEPLOYED", sent_at: long_ago }),
    ];
    const send = vi.spyOn(env.BUILDS, "sendBatch");
    await sweepBuilds(env, NOW);
    await sweepBuilds(env, NOW);
    const ids = send.mock.calls.flatMap(([messages]) =>
      [...messages].map(({ body }) => (body as { revision_id: string }).revision_id),
    );
    send.mockRestore();
    expect(ids.sort()).toEqual([lost.revision.id, dead.revision.id].sort());
    for (const { revision } of left) expect(ids).not.toContain(revision.id);
  });
});

/** An isolate that describes its graphs by this expression. */
function describing(value: string): string {
  return `import { WorkerEntrypoint } from "cloudflare:workers";
const GRAPH = ${JSON.stringify(DESCRIPTORS[0])};
const shared = (n) => { let v = {}; for (let i = 0; i < n; i++) v = { a: v, b: v }; return v; };
export class Agent extends WorkerEntrypoint {
  describe() { return { ok: true, value: ${value} }; }
}`;
}
