import type { EgressPolicy } from "../shared/egress.ts";
import { type BuildLog, buildLog } from "./build-log.ts";
import { prebuiltRuntime } from "./carried.ts";
import { compile } from "./compile.ts";
import { readConfig } from "./config.ts";
import {
  type AgentConfig,
  type Artifact,
  type BuildOrder,
  type BuildOutcome,
  type BuildSink,
  type UiBundles,
  uiKeyOf,
} from "./contract.ts";
import { installAll, readDependencies } from "./dependencies.ts";
import { BuildFailure } from "./failure.ts";
import { installer } from "./install.ts";
import { BUILD_TIMEOUT_MS } from "./limits.ts";
import { readProject } from "./project.ts";
import { fetchSource } from "./source.ts";
import { bytesText, countText, durationText } from "./text.ts";
import { compileUi } from "./ui.ts";

/** From a revision's source to its artifact. A user's mistake is an outcome and never thrown. */
export async function runBuild(
  bucket: R2Bucket,
  order: BuildOrder,
  sink: BuildSink,
): Promise<BuildOutcome> {
  const log = buildLog(sink);
  try {
    return await inTime(build(bucket, order, log));
  } catch (error) {
    return toOutcome(log, error);
  } finally {
    await log.flush();
  }
}

async function build(bucket: R2Bucket, order: BuildOrder, log: BuildLog): Promise<BuildOutcome> {
  const started = Date.now();
  const { tree, warnings, name } = await fetchSource(bucket, order);
  const at = tree.commit === null ? "" : ` at ${tree.commit.slice(0, 7)}`;
  const size = `${countText(tree.files.size + tree.others.size, "file")}, ${bytesText(tree.bytes)}`;
  log.info(`Fetched ${name}${at} (${size}) in ${durationText(Date.now() - started)}`);
  for (const warning of warnings) log.warn(warning);
  const config = readConfig(tree, order.config_path);
  log.info(`Read ${order.config_path}: ${graphsText(config)}`);
  const project = readProject(tree, order.config_path);
  const policy: EgressPolicy = order;
  const runtime = prebuiltRuntime();
  const options = { policy, registry_url: order.registry_url };
  const dependencies = await readDependencies(log, project, runtime, options);
  const packages = installer(bucket, policy, log);
  await installAll(log, packages, project, dependencies);
  const input = { tree, config, project, dependencies, installer: packages, runtime };
  const artifact = await compile(log, input);
  const stored = await store(bucket, order, artifact, await compileUi(log, input));
  log.info(
    `Stored the artifact (${bytesText(stored.artifact_bytes)}); the build took ${durationText(Date.now() - started)}`,
  );
  return { ok: true, ...stored, repo_commit_sha: tree.commit, config };
}

function graphsText({ graphs }: AgentConfig): string {
  const texts = Object.entries(graphs).map(
    ([id, { path, export_name }]) => `graph "${id}" is ${export_name} of ${path}`,
  );
  return texts.join(", ");
}

async function store(
  bucket: R2Bucket,
  { revision_id }: BuildOrder,
  artifact: Artifact,
  ui: UiBundles | null,
) {
  const artifact_key = `artifacts/${revision_id}.json`;
  const put = (key: string, value: unknown) =>
    bucket.put(key, JSON.stringify(value), { httpMetadata: { contentType: "application/json" } });
  if (ui) await put(uiKeyOf(artifact_key), ui);
  const object = await put(artifact_key, artifact);
  return { artifact_key, artifact_bytes: object.size };
}

async function inTime(work: Promise<BuildOutcome>): Promise<BuildOutcome> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const text = `The build took more than ${BUILD_TIMEOUT_MS / 1000} s.`;
    timer = setTimeout(() => reject(new BuildFailure("timed_out", text)), BUILD_TIMEOUT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What is nobody's mistake is thrown: another attempt may end better. */
function toOutcome(log: BuildLog, error: unknown): BuildOutcome {
  if (error instanceof BuildFailure) {
    log.error(error.message);
    return { ok: false, reason: error.reason, message: error.message };
  }
  log.error(`The builder failed: ${error instanceof Error ? error.message : String(error)}`);
  throw error;
}
