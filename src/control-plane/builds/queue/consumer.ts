import { egressPolicy } from "../../../shared/egress/egress.ts";
import { AppError } from "../../../shared/errors.ts";
import { log } from "../../../shared/log.ts";
import { startHeartbeat } from "../../../shared/work/heartbeat.ts";
import { LeaseLost } from "../../../shared/work/lease.ts";
import { sendAllOrLeave } from "../../../shared/work/queue.ts";
import { withTimeout } from "../../../shared/work/timeout.ts";
import { reportEnd } from "../../deployments/git/commit-status-service.ts";
import { readToken } from "../../deployments/git/integration-service.ts";
import {
  claimBuild,
  failExhausted,
  sendNextBuild,
} from "../../deployments/rollout/build-claim-service.ts";
import {
  advanceBuild,
  isAbandoned,
  leaseLost,
  loseLease,
  type RevisionBuild,
  recordArtifact,
  releaseLease,
  renewLease,
} from "../../deployments/rollout/build-service.ts";
import {
  type BuildFailureReason,
  type BuildOrder,
  type BuildOutcome,
  objectKeysOf,
  type PackageVersion,
  type PrebuildMessage,
} from "../contract.ts";
import { BuildFailure } from "../failure.ts";
import { BUILD_TIMEOUT_MS } from "../limits.ts";
import { isUnavailable, retryTransient } from "../retry.ts";
import { deployArtifact, failBuild } from "./deploy.ts";
import { LogSink } from "./log-sink.ts";

const HEARTBEAT_MS = 4000;

/** Delay of prebuilds, which leaves the processors to the first runs of the agent and to concurrent builds. */
const PREBUILD_DELAY_SECONDS = 5;

/** Timeout for a builder that does not end by itself. A consumer has 15 minutes for a message. */
const ANSWER_TIMEOUT_MS = BUILD_TIMEOUT_MS + 30_000;

/** Reasons of a failed build, by the codes of errors when a token is requested from the git host. */
const REFUSALS: Partial<Record<AppError["code"], BuildFailureReason>> = {
  bad_request: "source_unauthorized",
  invalid_request: "source_unsafe",
  unavailable: "source_unavailable",
};

/** A call of the builder was rejected, in most cases because its isolate or its process ended. */
class IsolateLost extends Error {}

/**
 * Claims and runs one attempt of a build. If the build has ended, reports its end to the git host.
 * @throws the error of a failed attempt when the build has attempts left, so that the queue delivers the message again
 */
export async function consumeBuild(
  env: Env,
  message: { revision_id: string; reports?: number },
): Promise<void> {
  const build = await claimBuild(env, message.revision_id, new Date());
  if (build === null) return reportEnd(env, message);
  const lease = startHeartbeat({
    interval_ms: HEARTBEAT_MS,
    renew: () => renewLease(env, build, new Date()),
    lost: () => leaseLost(build),
  });
  try {
    await Promise.race([lease.lost, runAttempt(env, build)]);
  } catch (error) {
    await settleFailure(env, build, error);
  } finally {
    lease.stop();
    await sendNextBuild(env, build, new Date());
    await reportEnd(env, message);
  }
}

async function runAttempt(env: Env, build: RevisionBuild): Promise<void> {
  if (build.artifact_key !== null) return deployArtifact(env, build);
  const order = await toOrder(env, build).catch(toRefusal);
  if (order instanceof BuildFailure) return failBuild(env, build, order.reason, order.message);
  const outcome = await callBuilder(env, build, order);
  if (!outcome.ok && outcome.is_transient) throw new Error(outcome.message);
  if (!outcome.ok) {
    const { reason: status_reason, message: status_message } = outcome;
    return advanceBuild(env, build, "BUILD_FAILED", { status_reason, status_message });
  }
  const { raw: config, env: config_env } = outcome.config;
  await keepArtifact(env, build, outcome);
  const { artifact_key } = outcome;
  await deployArtifact(env, { ...build, config, config_env, artifact_key });
  await sendPrebuilds(env, outcome.lacking, PREBUILD_DELAY_SECONDS);
}

async function sendPrebuilds(env: Env, versions: PackageVersion[], delay_s = 0): Promise<void> {
  if (versions.length === 0) return;
  await sendAllOrLeave<PrebuildMessage>(env.BUILDS, [{ type: "prebuild", versions }], delay_s);
}

/** Prebuilds the first version for later builds, and sends the other versions in a new message. */
export async function consumePrebuild(
  env: Env,
  { versions: [first, ...others] }: Pick<PrebuildMessage, "versions">,
): Promise<void> {
  if (first) await prebuild(env, first);
  await sendPrebuilds(env, others);
}

/** Logs a failure and does not retry it: the next build that lacks the version requests it again. */
async function prebuild(env: Env, { name, version }: PackageVersion): Promise<void> {
  const order = { name, version, registry_url: env.REGISTRY_URL, ...egressPolicy(env, "builds") };
  try {
    await env.BUILDER.prebuild(order);
  } catch (error) {
    log.error("prebuild_failed", error, { name, version });
  }
}

async function callBuilder(
  env: Env,
  build: RevisionBuild,
  order: BuildOrder,
): Promise<BuildOutcome> {
  const answer: Promise<BuildOutcome> = env.BUILDER.build(order, new LogSink(env, build)).catch(
    (error: unknown) => {
      throw new IsolateLost("The builder's isolate ended before it answered", { cause: error });
    },
  );
  return withTimeout(answer, ANSWER_TIMEOUT_MS, () => ({
    ok: false,
    reason: "timed_out",
    message: `The builder did not answer within ${ANSWER_TIMEOUT_MS / 1000} s.`,
  }));
}

/** Records the artifact. Deletes it when the revision ended on request during this attempt: no row names it. */
async function keepArtifact(
  env: Env,
  build: RevisionBuild,
  outcome: Extract<BuildOutcome, { ok: true }>,
): Promise<void> {
  const { artifact_key, artifact_bytes, repo_commit_sha, config } = outcome;
  const fields = { artifact_key, artifact_bytes, repo_commit_sha };
  try {
    await recordArtifact(env, build, { ...fields, config: config.raw, config_env: config.env });
  } catch (error) {
    if (error instanceof LeaseLost && (await isAbandoned(env, build))) {
      await env.ARTIFACTS.delete(objectKeysOf(artifact_key));
    }
    throw error;
  }
}

async function toOrder(env: Env, build: RevisionBuild): Promise<BuildOrder> {
  const { langgraph_config_path, source_tarball_path } = build.source_revision_config;
  const { repo_url } = build.source_config;
  return {
    deployment_id: build.deployment_id,
    revision_id: build.id,
    source:
      source_tarball_path === undefined
        ? {
            kind: "git",
            repo_url: repo_url ?? "",
            repo_ref: refOf(build),
            token: await readSourceToken(env, build),
          }
        : { kind: "tarball", object_key: source_tarball_path },
    config_path: langgraph_config_path ?? "langgraph.json",
    registry_url: env.REGISTRY_URL,
    ...egressPolicy(env, "builds"),
  };
}

/**
 * Returns the token for fetching the repository, `null` without an integration.
 * @throws BuildFailure when the git host issues none
 */
function readSourceToken(env: Env, build: RevisionBuild): Promise<string | null> {
  const read = () =>
    readToken(env, build.workspace_id, build.source_config).catch((error: unknown) => {
      throw toSourceFailure(error);
    });
  return retryTransient(read, isUnavailable);
}

/** Leaves errors of the platform as they are, such as an outage of the database. */
function toSourceFailure(error: unknown): unknown {
  const reason = error instanceof AppError ? REFUSALS[error.code] : undefined;
  if (!(error instanceof AppError) || reason === undefined) return error;
  return new BuildFailure(reason, error.message, { cause: error });
}

/** Returns a BuildFailure as it is. @throws any other error */
function toRefusal(error: unknown): BuildFailure {
  if (error instanceof BuildFailure) return error;
  throw error;
}

/**
 * Returns the commit or the branch to fetch, "" for the default branch. A redeploy fetches the commit of the revision
 * that it copies. After an attempt that fetched the source, the next one fetches the same commit, because the branch
 * may have newer ones. A push fetches the branch at first: hosts may deliver two pushes out of order, so the pushed
 * commit may be an older one.
 */
function refOf(build: RevisionBuild): string {
  const { trigger, is_commit_fetched, repo_commit_sha, source_revision_config } = build;
  const commit = trigger === "redeploy" || is_commit_fetched ? repo_commit_sha : null;
  return commit ?? source_revision_config.repo_ref ?? "";
}

async function settleFailure(env: Env, build: RevisionBuild, error: unknown): Promise<void> {
  if (error instanceof LeaseLost) return;
  // A build also fails when it logs without the lease, as after a deletion. Then nothing is left to settle.
  if (!(await renewLease(env, build, new Date()))) return;
  log.error("build_attempt_failed", error, { revision_id: build.id, attempt: build.attempt });
  if (error instanceof IsolateLost) await loseLease(env, build, new Date());
  else await releaseLease(env, build);
  if (await failExhausted(env, build.id, new Date())) return;
  throw error;
}
