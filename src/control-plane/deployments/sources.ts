import { AppError, invalid } from "../../shared/errors.ts";
import type { DeploymentCreateRequest, DeploymentPatchRequest } from "./schema.ts";
import type { RevisionConfigInput } from "./source-schema.ts";
import type { StoredRevisionConfig, StoredSourceConfig } from "./stored.ts";

/** Checks and decisions about the source of a revision's code. Pure. */

type StoredSource = "github" | "internal_source";

type SourceParts = {
  source: StoredSource;
  source_config: StoredSourceConfig;
  source_revision_config: StoredRevisionConfig;
};

type SourceConfigChange = Omit<StoredSourceConfig, "integration_id"> & {
  /** `null` removes it. */
  integration_id?: string | null;
};

export type SourceChange = {
  source_config?: SourceConfigChange;
  source_revision_config?: StoredRevisionConfig;
};

type SourceConfigInput = DeploymentCreateRequest["source_config"];
type ChangeInput = Partial<Omit<DeploymentPatchRequest, "display_name" | "secrets">>;

const DEFAULT_CONFIG_PATH = "langgraph.json";

export function toNewSource(input: DeploymentCreateRequest): SourceParts {
  const source = toStoredSource(input.source);
  const source_config = toSourceConfig(input.source_config);
  const given = toRevisionConfig(input.source_revision_config);
  if (source === "github") assertGithub(source_config, given);
  if (given.source_tarball_path !== undefined) {
    throw wrongConfig(
      "source_tarball_path",
      "create the deployment without it, then upload, then PATCH it",
    );
  }
  assertNoCustomUrl(input.source_config, null);
  const parts = {
    source,
    source_config,
    source_revision_config: { langgraph_config_path: DEFAULT_CONFIG_PATH, ...given },
  };
  assertNoTagPush(parts);
  return parts;
}

/**
 * Checks a PATCH and returns the fields to change. Absent and `null` fields do not change, except `integration_id`.
 * @param url the URL of the deployment
 */
export function toChange(
  before: SourceParts & DeploymentRef & { name: string },
  input: ChangeInput,
  url: string,
): SourceChange {
  assertUnchanged(before, input);
  assertNoCustomUrl(input.source_config ?? {}, url);
  const source_config = input.source_config ? toConfigChange(input.source_config) : undefined;
  const config = input.source_revision_config;
  const source_revision_config = config ? toRevisionConfig(config) : undefined;
  assertTarball(before, source_revision_config?.source_tarball_path);
  assertNoTagPush({
    source_config: { ...before.source_config, ...source_config },
    source_revision_config: { ...before.source_revision_config, ...source_revision_config },
  });
  return {
    ...(source_config && { source_config }),
    ...(source_revision_config && { source_revision_config }),
  };
}

export function canBuild(source: StoredSource, config: StoredRevisionConfig): boolean {
  return source === "github" || config.source_tarball_path !== undefined;
}

type DeploymentRef = { id: string; workspace_id: string };

/** Returns the prefix of keys that only uploads of this deployment have. */
export function uploadPrefix({ id, workspace_id }: DeploymentRef): string {
  return `uploads/${workspace_id}/${id}/`;
}

function toStoredSource(source: DeploymentCreateRequest["source"]): StoredSource {
  switch (source) {
    case "github":
    case "internal_source":
      return source;
    case "external_docker":
    case "internal_docker":
      throw invalid(
        ["body", "source"],
        `"${source}" cannot be used: images are not supported. Use "github" with a repository, or "internal_source" with an upload, as langgraphjs deploy --remote does`,
      );
  }
}

function toSourceConfig({ custom_url: _, ...input }: SourceConfigInput): StoredSourceConfig {
  return withoutNulls(input);
}

function toConfigChange(input: SourceConfigInput): SourceConfigChange {
  const config = toSourceConfig(input);
  return input.integration_id === null ? { ...config, integration_id: null } : config;
}

/** Accepts the URL of the deployment, because clients may send back the settings that they read. */
function assertNoCustomUrl({ custom_url }: SourceConfigInput, url: string | null): void {
  if (custom_url == null || custom_url === url) return;
  const text = "must be null or absent: Heddle sets it to the URL of the deployment";
  throw invalid(["body", "source_config", "custom_url"], text);
}

function toRevisionConfig(input: RevisionConfigInput): StoredRevisionConfig {
  const { agent_config_path: path, langgraph_config_path: same, image_uri, ...rest } = input;
  if (image_uri != null) {
    throw wrongConfig("image_uri", "must be null: images are not supported, use repo_ref");
  }
  if (path != null && same != null && path !== same) {
    throw wrongConfig(
      "agent_config_path",
      `is "${path}" but langgraph_config_path is "${same}": send one of the two`,
    );
  }
  return withoutNulls({ ...rest, langgraph_config_path: path ?? same });
}

function assertGithub(config: StoredSourceConfig, revision: StoredRevisionConfig): void {
  for (const field of ["repo_url", "deployment_type"] as const) {
    if (config[field] === undefined) throw missing("source_config", field);
  }
  if (revision.repo_ref === undefined) throw missing("source_revision_config", "repo_ref");
}

function assertUnchanged(before: SourceParts & { name: string }, input: ChangeInput): void {
  const top = { name: before.name, source: before.source };
  for (const field of ["name", "source"] as const) {
    assertSame(["body", field], top[field], input[field]);
  }
  assertSame(["body", "revision_source"], before.source, input.revision_source);
  for (const field of ["repo_url", "deployment_type"] as const) {
    const loc = ["body", "source_config", field];
    assertSame(loc, before.source_config[field], input.source_config?.[field]);
  }
}

function assertSame(loc: string[], before: string | undefined, now: string | null | undefined) {
  if (now == null || now === before) return;
  const is = before === undefined ? "not set" : `"${before}"`;
  throw invalid(loc, `cannot change (it is ${is}): create another deployment`);
}

function assertTarball(before: SourceParts & DeploymentRef, path: string | undefined): void {
  if (path === undefined) return;
  if (before.source !== "internal_source") {
    throw wrongConfig("source_tarball_path", "is only allowed with the source internal_source");
  }
  const prefix = uploadPrefix(before);
  if (!path.startsWith(prefix) || path.includes("..")) {
    throw wrongConfig(
      "source_tarball_path",
      `must be an uploaded object of this deployment: ${prefix}...`,
    );
  }
}

type PushParts = {
  source_config: Pick<StoredSourceConfig, "build_on_push">;
  source_revision_config: Pick<StoredRevisionConfig, "repo_ref">;
};

function assertNoTagPush({ source_config, source_revision_config }: PushParts): void {
  if (source_config.build_on_push !== true) return;
  if (!source_revision_config.repo_ref?.startsWith("refs/tags/")) return;
  throw new AppError(
    "bad_request",
    "build_on_push cannot be true while repo_ref is a tag: a tag does not move. Set build_on_push to false or repo_ref to a branch.",
  );
}

function missing(object: string, field: string): AppError {
  return invalid(["body", object, field], 'is required for the source "github"', "missing");
}

function wrongConfig(field: string, text: string): AppError {
  return invalid(["body", "source_revision_config", field], text);
}

type NonNullFields<T> = { [K in keyof T]?: NonNullable<T[K]> };

function withoutNulls<T extends object>(input: T): NonNullFields<T> {
  // Casts because Object.entries loses the types of the values.
  return Object.fromEntries(
    Object.entries(input).filter(([, value]) => value != null),
  ) as NonNullFields<T>;
}
