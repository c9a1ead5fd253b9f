import { z } from "@hono/zod-openapi";
import { isShallow, MAX_DEPTH } from "../shared/depth.ts";
import { HttpUrl, list, QueryBoolean, Timestamp, Uuid } from "../shared/schema.ts";

export const DEPLOYMENT_TYPES = [
  "dev_free",
  "dev",
  "prod",
  "dev_zero",
  "dev_free_zero",
  "serverless",
] as const;

const REVISION_STATUSES = [
  "CREATING",
  "QUEUED",
  "AWAITING_BUILD",
  "BUILDING",
  "AWAITING_DEPLOY",
  "DEPLOYING",
  "DEPLOYED",
  "CREATE_FAILED",
  "BUILD_FAILED",
  "DEPLOY_FAILED",
  "SKIPPED",
  "INTERRUPTED",
  "UNKNOWN",
] as const;
export const RevisionStatus = z.enum(REVISION_STATUSES).openapi("RevisionStatus");
export type RevisionStatus = z.infer<typeof RevisionStatus>;

const DEPLOYMENT_STATUSES = [
  "AWAITING_DATABASE",
  "READY",
  "UNUSED",
  "AWAITING_DELETE",
  "UNKNOWN",
] as const;
export const DeploymentStatus = z.enum(DEPLOYMENT_STATUSES).openapi("DeploymentStatus");

const Source = z
  .enum(["github", "internal_source", "external_docker", "internal_docker"])
  .openapi("DeploymentSource", {
    description: "github is any git repository; the two docker sources are refused.",
  });

const Name = z
  .string()
  .regex(/^[a-z0-9-]{1,63}$/, "must be 1 to 63 characters of a-z, 0-9 and -")
  .openapi({ example: "support-agent" });

const RepoRef = z
  .string()
  .max(255)
  .refine(isRef, "must be a branch, refs/tags/<tag> or a commit id");

const TreePath = z
  .string()
  .max(512)
  .refine(isTreePath, "must be a path inside the repository, without a leading / and without ..");

const Json = z.record(z.string(), z.unknown());

// Kept and shown, in a row that takes 2 MB with all it holds.
const MAX_SPEC_CHARACTERS = 64 * 1024;
const ResourceSpec = Json.refine(
  (spec) => isShallow(spec) && JSON.stringify(spec).length <= MAX_SPEC_CHARACTERS,
  `must be at most ${MAX_SPEC_CHARACTERS} characters of JSON, nested at most ${MAX_DEPTH} deep`,
);

export const SourceConfigInput = z.object({
  integration_id: Uuid.nullish(),
  repo_url: HttpUrl.nullish(),
  deployment_type: z.enum(DEPLOYMENT_TYPES).nullish(),
  build_on_push: z.boolean().nullish(),
  custom_url: HttpUrl.nullish(),
  resource_spec: ResourceSpec.nullish(),
  install_command: z.string().max(1000).nullish(),
  build_command: z.string().max(1000).nullish(),
});

export const RevisionConfigInput = z.object({
  repo_ref: RepoRef.nullish(),
  agent_config_path: TreePath.nullish(),
  langgraph_config_path: TreePath.nullish(),
  image_uri: z.string().nullish(),
  source_tarball_path: z.string().max(512).nullish(),
});
export type RevisionConfigInput = z.infer<typeof RevisionConfigInput>;

export const SecretInput = z.object({ name: z.string(), value: z.string() });
export type SecretInput = z.infer<typeof SecretInput>;

/** A published client sends null or nothing; a list that is not empty could not be honoured. */
export const NoSecretReferences = z
  .array(z.unknown())
  .max(0, "must be empty: there are no Kubernetes secrets to point to here; use secrets")
  .nullish();

export const DeploymentCreateRequest = z
  .object({
    name: Name,
    source: Source,
    source_config: SourceConfigInput.default({}),
    source_revision_config: RevisionConfigInput.default({}),
    secrets: list(SecretInput).default([]),
    secret_references: NoSecretReferences,
  })
  .openapi("DeploymentCreateRequest");
export type DeploymentCreateRequest = z.infer<typeof DeploymentCreateRequest>;

const Traffic = z
  .array(z.object({ revision_id: Uuid, percent: z.number().int().min(1).max(100) }))
  .max(10)
  .openapi({
    description:
      "Revisions that serve beside each other, by percents that sum to 100; a thread stays on its revision while the split stands. One with 100 becomes the active one; none ends the split, and the active one serves alone. A revision that is deployed after it ends it too.",
  });

export const DeploymentPatchRequest = z
  .object({
    name: z.string().nullish(),
    display_name: z.string().trim().min(1).max(200).nullish(),
    source: z.string().nullish(),
    source_config: SourceConfigInput.nullish(),
    source_revision_config: RevisionConfigInput.nullish(),
    secrets: list(SecretInput).nullish(),
    traffic: Traffic.nullish(),
    secret_references: NoSecretReferences,
    revision_source: z
      .string()
      .nullish()
      .openapi({ description: "What published clients repeat; the source of the deployment." }),
  })
  .openapi("DeploymentPatchRequest");
export type DeploymentPatchRequest = z.infer<typeof DeploymentPatchRequest>;

const SourceConfig = z.object({
  integration_id: z.string().nullable(),
  repo_url: z.string().nullable(),
  deployment_type: z.string().nullable(),
  build_on_push: z.boolean(),
  custom_url: z.string().nullable(),
  resource_spec: Json.nullable(),
  install_command: z.string().nullable(),
  build_command: z.string().nullable(),
});

export const SourceRevisionConfig = z.object({
  repo_ref: z.string().nullable(),
  agent_config_path: z.string().nullable(),
  langgraph_config_path: z.string().nullable(),
  image_uri: z.null(),
  source_tarball_path: z.string().nullable(),
  repo_commit_sha: z.string().nullable(),
});

export const Deployment = z
  .object({
    id: Uuid,
    tenant_id: Uuid,
    name: z.string(),
    display_name: z.string().nullable(),
    source: z.string(),
    source_config: SourceConfig,
    source_revision_config: SourceRevisionConfig,
    secrets: z
      .array(z.object({ name: z.string(), updated_at: Timestamp }))
      .openapi({ description: "Names alone: a value never leaves." }),
    secret_references: z.null(),
    status: DeploymentStatus,
    latest_revision_id: Uuid.nullable(),
    active_revision_id: Uuid.nullable(),
    tracing_project_id: Uuid.nullable(),
    traffic: Traffic,
    image_version: z.null(),
    url: z.string().openapi({ description: "Where the agent server of this deployment answers." }),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .openapi("Deployment");
export type Deployment = z.infer<typeof Deployment>;

export const DeploymentDeleteQuery = z.object({
  delete_tracing_project: QueryBoolean.default(false),
});
export type DeploymentDeleteQuery = z.infer<typeof DeploymentDeleteQuery>;

export const DeploymentsList = z
  .object({ resources: z.array(Deployment), offset: z.number().int() })
  .openapi("DeploymentsList");
export type DeploymentsList = z.infer<typeof DeploymentsList>;

export const DeploymentsDeleted = z
  .object({
    deleted: z.array(Uuid),
    failed: z.array(z.object({ id: Uuid, detail: z.string() })),
  })
  .openapi("DeploymentsDeleted");
export type DeploymentsDeleted = z.infer<typeof DeploymentsDeleted>;

export const DeploymentPath = z.object({ deployment_id: Uuid });
export const RevisionPath = DeploymentPath.extend({ revision_id: Uuid });
export type RevisionPath = z.infer<typeof RevisionPath>;

function isRef(text: string): boolean {
  if (!/^[^\s\p{Cc}~^:?*[\\]+$/u.test(text) || /\.\.|@\{/.test(text)) return false;
  return !text.startsWith("-") && text.split("/").every((part) => /^[^.]/.test(part));
}

function isTreePath(text: string): boolean {
  if (text === "" || text.startsWith("/") || text.includes("\\")) return false;
  return !text.split("/").includes("..");
}
