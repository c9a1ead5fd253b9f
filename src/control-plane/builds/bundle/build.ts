import type { EgressPolicy } from "../../../shared/egress/egress.ts";
import type { SourceMap } from "../../../shared/source-maps/stacks.ts";
import { type BuildLog, buildLog } from "../build-log.ts";
import { readConfig } from "../config/config.ts";
import {
  type AgentConfig,
  type ArtifactKind,
  artifactKeyOf,
  type BuildOrder,
  type BuildOutcome,
  type BuildSink,
  type BuildStore,
  type UiBundles,
} from "../contract.ts";
import { BuildFailure } from "../failure.ts";
import { ARTIFACT_BYTES, BUILD_TIMEOUT_MS, SOURCE_MAP_BYTES } from "../limits.ts";
import { installAll, readDependencies } from "../packages/dependencies.ts";
import { installer } from "../packages/install.ts";
import { readProject } from "../packages/project.ts";
import { loadTsConfig } from "../resolve/tsconfig.ts";
import { fetchSource } from "../source/source.ts";
import { bytesText, countText, cutMessage, durationText } from "../text.ts";
import { startBundler } from "./bundle.ts";
import { compile } from "./compile.ts";
import { compileUi } from "./ui.ts";

/** Builds the artifact of a revision from its source. Failures are outcomes, so this never rejects. */
export async function runBuild(
  storage: BuildStore,
  order: BuildOrder,
  sink: BuildSink,
): Promise<BuildOutcome> {
  const log = buildLog(sink);
  const outcome = await inTime(build(storage, order, log)).catch((error: unknown) =>
    toOutcome(log, error),
  );
  try {
    await log.flush();
  } catch (error) {
    const message = cutMessage(`The log cannot be written: ${String(error)}`);
    return { ok: false, reason: "internal", message, is_transient: true };
  }
  return outcome;
}

async function build(storage: BuildStore, order: BuildOrder, log: BuildLog): Promise<BuildOutcome> {
  const started = Date.now();
  const fetching = fetchSource(storage, order);
  // The bundler starts while the source is fetched. If that fails, the first bundle starts it again.
  startBundler().catch(() => undefined);
  const { tree, warnings, name } = await fetching;
  const at = tree.commit === null ? "" : ` at ${tree.commit.repo_commit_sha.slice(0, 7)}`;
  const size = `${countText(tree.files.size + tree.others.size, "file")}, ${bytesText(tree.bytes)}`;
  log.begin("install", tree.commit);
  log.info(`Fetched ${name}${at} (${size}) in ${durationText(Date.now() - started)}`);
  for (const warning of warnings) log.warn(warning);
  const config = readConfig(tree, order.config_path);
  log.info(`Read ${order.config_path}: ${graphsText(config)}`);
  const graph_paths = Object.values(config.graphs).map(({ path }) => path);
  const project = readProject(tree, order.config_path, graph_paths);
  const policy: EgressPolicy = order;
  const options = { policy, registry_url: order.registry_url };
  const dependencies = await readDependencies(log, storage, project, options);
  const packages = installer(storage, policy, log);
  await installAll(log, packages, project, dependencies);
  const needs = { tree, project, dependencies, installer: packages };
  const input = { ...needs, config, tsconfig: await loadTsConfig(log, needs) };
  log.begin("bundle");
  // The bundler blocks the thread: lines that are not sent now would wait until it ends.
  await log.flush();
  const compiled = await compile(log, input);
  const stored = await store(storage, order, compiled, await compileUi(log, input));
  log.info(
    `Stored the artifact (${bytesText(stored.artifact_bytes)}); the build took ${durationText(Date.now() - started)}`,
  );
  const repo_commit_sha = tree.commit?.repo_commit_sha ?? null;
  return { ok: true, ...stored, repo_commit_sha, config, lacking: [] };
}

function graphsText({ graphs }: AgentConfig): string {
  const texts = Object.entries(graphs).map(
    ([id, { path, export_name }]) => `graph "${id}" is ${export_name} of ${path}`,
  );
  return texts.join(", ");
}

async function store(
  storage: BuildStore,
  { revision_id }: BuildOrder,
  { artifact, map }: Awaited<ReturnType<typeof compile>>,
  ui: UiBundles | null,
) {
  // Checks all sizes first: a failed build leaves nothing behind.
  const [main, page] = [toBlob(artifact), ui && toBlob(ui)];
  const put = (kind: ArtifactKind, blob: Blob) =>
    storage.writeArtifact(kind, blob.size, blob.stream());
  if (page) await put("ui", page);
  await putMap(storage, map);
  await put("artifact", main);
  return { artifact_key: artifactKeyOf(revision_id), artifact_bytes: main.size };
}

/** @throws BuildFailure when the value is too large */
function toBlob(value: unknown): Blob {
  const blob = new Blob([JSON.stringify(value)]);
  if (blob.size <= ARTIFACT_BYTES) return blob;
  const sizes = `${bytesText(blob.size)}; at most ${bytesText(ARTIFACT_BYTES)} are allowed`;
  throw new BuildFailure("bundle_failed", `The bundle has ${sizes}.`);
}

/** Stores the source map, unless it is too large: only failures need it. */
async function putMap(storage: BuildStore, map: SourceMap): Promise<void> {
  const blob = new Blob([JSON.stringify(map)]);
  if (blob.size <= SOURCE_MAP_BYTES) await storage.writeArtifact("map", blob.size, blob.stream());
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

/** Returns an outcome for every error: the consumer takes a rejected call for a lost isolate. */
function toOutcome(log: BuildLog, error: unknown): BuildOutcome {
  if (error instanceof BuildFailure) {
    log.error(error.message);
    return { ok: false, reason: error.reason, message: error.message };
  }
  const message = cutMessage(error instanceof Error ? error.message : String(error));
  log.error(`The builder failed: ${message}`);
  return { ok: false, reason: "internal", message, is_transient: true };
}
