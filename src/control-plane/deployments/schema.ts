import { z } from "@hono/zod-openapi";
import {
  CreatedAt,
  list,
  namedObject,
  QueryBoolean,
  textField,
  UpdatedAt,
  Uuid,
} from "../../shared/schema.ts";
import {
  GITHUB_REQUEST,
  RevisionConfigInput,
  SourceConfig,
  SourceConfigInput,
  SourceRevisionConfig,
} from "./source-schema.ts";

export const REVISION_STATUSES = [
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

export const DEPLOYMENT_STATUSES = [
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

export const MAX_NAME_CHARACTERS = 100;
const Name = z
  .string()
  .max(MAX_NAME_CHARACTERS)
  .regex(/^[A-Za-z0-9._-]*$/, "must contain only letters, digits, -, _ and .")
  .regex(/[A-Za-z0-9]/, "must contain a letter or a digit")
  .openapi({ example: "support-agent" });

export const SecretInput = z.object({
  name: textField("Name of the environment variable", "OPENAI_API_KEY"),
  value: textField("Value of the environment variable", "sk-..."),
});
export type SecretInput = z.infer<typeof SecretInput>;

const NamedSecretChange = z.object({
  ...SecretInput.shape,
  value: SecretInput.shape.value.nullable().describe("New value. `null` removes the variable"),
});
export type NamedSecretChange = z.infer<typeof NamedSecretChange>;

const SECRETS_DESCRIPTION =
  "Replaces all secrets and creates a revision, without a build when the latest revision is deployed. An empty list removes all, except with `source_tarball_path`";

/** Published clients send `null` or omit the field. A list with items is refused rather than ignored. */
export const NoSecretReferences = z
  .array(z.unknown())
  .max(0, "must be empty: use secrets")
  .nullish();

export const DeploymentCreateRequest = z
  .object({
    name: Name.describe(
      "Name, unique in the workspace. The deployment's host name derives from it",
    ),
    source: Source.describe("Kind of the source"),
    source_config: SourceConfigInput.default({}).describe("Source and build"),
    source_revision_config: RevisionConfigInput.default({}).describe("What is built"),
    secrets: list(SecretInput)
      .default([])
      .describe("Environment variables of the agents. Stored encrypted"),
    secret_references: NoSecretReferences.describe("Not supported: use `secrets`"),
  })
  .openapi("DeploymentCreateRequest", GITHUB_REQUEST);
export type DeploymentCreateRequest = z.infer<typeof DeploymentCreateRequest>;

const Traffic = z
  .array(
    z.object({
      revision_id: Uuid.describe("Id of the revision"),
      percent: z.number().int().min(1).max(100).describe("Share of the traffic in percent"),
    }),
  )
  .max(10)
  .describe(
    "Revisions and their shares in percent, which sum to 100. A thread keeps its revision during the split. A share of 100 makes its revision the active one. An empty list, or a later deployment, ends the split.",
  );

export const DeploymentPatchRequest = namedObject("DeploymentPatchRequest", {
  name: z.string().nullish().describe("Must be the current name: a deployment is not renamed"),
  display_name: z.string().trim().min(1).max(200).nullish().describe("Name for display"),
  source: z.string().nullish().describe("Must be the current kind of the source"),
  source_config: SourceConfigInput.nullish().describe("Source and build"),
  source_revision_config: RevisionConfigInput.nullish().describe("What is built"),
  secrets: list(SecretInput).nullish().describe(SECRETS_DESCRIPTION),
  secret_changes: list(NamedSecretChange)
    .nullish()
    .describe(
      "Changes only the named secrets. Creates a revision as `secrets` does, unless no value changes. Excludes `secrets`",
    ),
  traffic: Traffic.nullish().describe("Split of the traffic between revisions"),
  secret_references: NoSecretReferences.describe("Not supported: use `secrets`"),
  revision_source: z.string().nullish().describe("Must be the current kind of the source"),
});
export type DeploymentPatchRequest = z.infer<typeof DeploymentPatchRequest>;

const RevisionSummary = z.object({
  number: z.number().int().describe("1, 2, 3 and so on within the deployment"),
  status: RevisionStatus.describe("Status of the build and of the rollout"),
  status_reason: z.string().nullable().describe("Code of the reason, such as `ref_not_found`"),
  repo_commit_sha: z.string().nullable().describe("Commit of the code, `null` until it is known"),
  created_at: CreatedAt,
  updated_at: UpdatedAt,
});

export const Deployment = namedObject("Deployment", {
  id: Uuid.describe("Id of the deployment"),
  tenant_id: Uuid.describe("Id of the workspace"),
  name: textField("Name, unique in the workspace", "support-agent"),
  display_name: z.string().nullable().describe("Name for display"),
  source: textField("Kind of the source", "github"),
  source_config: SourceConfig.describe("Source and build"),
  source_revision_config: SourceRevisionConfig.describe("What is built"),
  secrets: z
    .array(
      z.object({
        name: textField("Name of the environment variable", "OPENAI_API_KEY"),
        updated_at: UpdatedAt,
      }),
    )
    .describe("Names of the environment variables. Values are never returned"),
  secret_references: z.null().describe("Not supported: use `secrets`"),
  status: DeploymentStatus.describe("Status of the deployment"),
  latest_revision_id: Uuid.nullable().describe("Id of the newest revision"),
  active_revision_id: Uuid.nullable().describe("Id of the revision that serves requests"),
  latest_revision: RevisionSummary.nullable().describe("The newest revision in short"),
  active_revision: RevisionSummary.nullable().describe(
    "The revision that serves requests, in short",
  ),
  tracing_project_id: Uuid.nullable().describe("Id of the project that receives the traces"),
  traffic: Traffic.describe("Split of the traffic between revisions"),
  image_version: z.null().describe("Always `null`: deployments have no image"),
  url: textField(
    "URL of the agent server",
    "https://heddle.example.com/agents/019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071",
  ),
  created_at: CreatedAt,
  updated_at: UpdatedAt,
});
export type Deployment = z.infer<typeof Deployment>;

export const DeploymentDeleteQuery = z.object({
  delete_tracing_project: QueryBoolean.default(false).describe(
    "Whether to delete the tracing project too",
  ),
});
export type DeploymentDeleteQuery = z.infer<typeof DeploymentDeleteQuery>;

export const DeploymentsList = namedObject("DeploymentsList", {
  resources: z.array(Deployment).describe("Deployments of the page"),
  offset: z.number().int().describe("`offset` of the next page"),
});
export type DeploymentsList = z.infer<typeof DeploymentsList>;

export const DeploymentDeletion = namedObject("DeploymentDeletion", {
  deleted: z.array(Uuid).describe("Ids of the deployments whose deletion has begun"),
  failed: z
    .array(
      z.object({
        id: Uuid.describe("Id of the deployment"),
        detail: textField(
          "Reason",
          "Deployment ID 019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071 not found.",
        ),
      }),
    )
    .describe("Deployments that were not deleted"),
});
export type DeploymentDeletion = z.infer<typeof DeploymentDeletion>;

export const DeploymentPath = z.object({ deployment_id: Uuid.describe("Id of the deployment") });
export const RevisionPath = DeploymentPath.extend({
  revision_id: Uuid.describe("Id of the revision"),
});
export type RevisionPath = z.infer<typeof RevisionPath>;
