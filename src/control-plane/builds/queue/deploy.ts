import type { AgentEntrypoint } from "../../../isolate/contract.ts";
import { AppError } from "../../../shared/errors.ts";
import { excerptOf, hasFrames, mapStacks } from "../../../shared/source-maps/stacks.ts";
import { withTimeout } from "../../../shared/work/timeout.ts";
import { agentIsolate } from "../../deployments/isolate/isolate.ts";
import { readVariables } from "../../deployments/isolate/revision-code.ts";
import { readSourceMap } from "../../deployments/logs/source-map-service.ts";
import {
  activateBuild,
  advanceBuild,
  appendLog,
  type RevisionBuild,
} from "../../deployments/rollout/build-service.ts";
import { unsetVariables } from "../config/webhooks-config.ts";
import type { BuildFailureReason } from "../contract.ts";
import { type BuildDescription, checkDescription, failedDescription } from "./description.ts";

const LOAD_TIMEOUT_MS = 30_000;

/** Deploys a stored artifact. Its graphs are loaded once before a run can use them. */
export async function deployArtifact(env: Env, build: RevisionBuild): Promise<void> {
  const unset = unsetVariables(build.config, await readVariables(env, build));
  if (unset.length > 0) return failUnset(env, build, unset);
  const answer = await describe(env, build);
  if (!answer.ok) return failLoad(env, build, answer.error);
  const graphs = answer.value.map(({ graph_id }) => graph_id);
  const described = { graphs, descriptors: answer.value };
  await advanceBuild(env, build, "AWAITING_DEPLOY", described, "deploy");
  await advanceBuild(env, build, "DEPLOYING");
  await activateBuild(env, build);
}

async function describe(env: Env, build: RevisionBuild): Promise<BuildDescription> {
  const first = load(env, build).catch((error: unknown) => {
    if (isLoadError(error)) throw error;
    // On one machine, other agents run in the process of the first isolate and may have ended it.
    return load(env, build, crypto.randomUUID());
  });
  const answer = first.then(checkDescription, (error: unknown) => {
    if (isTransient(error)) throw error;
    return failedDescription(error instanceof Error ? error.message : String(error));
  });
  return withTimeout(answer, LOAD_TIMEOUT_MS, () =>
    failedDescription(`The agent did not load within ${LOAD_TIMEOUT_MS / 1000} s.`),
  );
}

function load(env: Env, build: RevisionBuild, quarantine?: string): Promise<unknown> {
  const { id: revision_id, deployment_id, secrets_version } = build;
  const ref = { deployment_id, revision_id, secrets_version };
  // The loader types every entrypoint as a Fetcher; src/isolate exports this one.
  const isolate = agentIsolate(env, quarantine === undefined ? ref : { ...ref, quarantine });
  return (isolate as unknown as AgentEntrypoint).describe();
}

/** Matches errors of the agent's code, which a second isolate would repeat. */
function isLoadError(error: unknown): boolean {
  const message = error instanceof Error ? error.message : "";
  return /^(Failed to start Worker|Worker has no such entrypoint)/.test(message);
}

/** Matches errors of the platform, not of the agent. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // The code of the revision could not be read.
  if (AppError.from(error).code === "unavailable") return true;
  return "retryable" in error || /^(Network connection lost|internal error)/.test(error.message);
}

type Failure = { error: string; message: string; stack: string | null };

async function failLoad(env: Env, build: RevisionBuild, failure: Failure): Promise<void> {
  const { error, message, stack } = failure;
  const map = await readSourceMap(env, build.artifact_key);
  const line = stack ?? `${error}: ${message}`;
  if (map === null) return failBuild(env, build, "graph_load_failed", message, line);
  // Errors of the runtime for a failed load have the stack in their message.
  const [text = message, mapped = line] = mapStacks(map, [message, line]);
  const excerpt = hasFrames(message) ? null : excerptOf(map, stack ?? "");
  const status = excerpt === null ? text : `${text}\n\n${excerpt}`;
  return failBuild(env, build, "graph_load_failed", status, mapped);
}

/** Fails a build whose webhook headers name unset variables. The builder cannot check this: it has no secrets. */
function failUnset(env: Env, build: RevisionBuild, unset: string[]): Promise<void> {
  const names = unset.map((name) => `env.${name}`).join(", ");
  const remedy = "add it to the secrets of the deployment, and create a new revision";
  const text = `"webhooks.headers" of langgraph.json names ${names}, which has no value: ${remedy}.`;
  return failBuild(env, build, "config_invalid", text);
}

/** Ends a build with a reason. The last line of its log is `message`. */
export async function failBuild(
  env: Env,
  build: RevisionBuild,
  status_reason: BuildFailureReason,
  status_message: string,
  message = status_message,
): Promise<void> {
  const now = new Date();
  const line = { level: "ERROR", message, timestamp: now.toISOString() } as const;
  await appendLog(env, build, [line], now);
  await advanceBuild(env, build, "BUILD_FAILED", { status_reason, status_message });
}
