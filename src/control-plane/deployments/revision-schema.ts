import { z } from "@hono/zod-openapi";
import { CreatedAt, list, UpdatedAt, Uuid } from "../../shared/schema.ts";
import { NoSecretReferences, RevisionStatus, SecretInput } from "./schema.ts";
import { RevisionConfigInput, SourceConfigInput, SourceRevisionConfig } from "./source-schema.ts";

export const RevisionCreateRequest = z
  .object({
    source_config: SourceConfigInput.nullish().describe("Changes to the source and the build"),
    source_revision_config: RevisionConfigInput.nullish().describe("Changes to what is built"),
    secrets: list(SecretInput)
      .nullish()
      .describe("Replaces all secrets of the deployment. An empty list removes all"),
    secret_references: NoSecretReferences.describe("Must be empty: use `secrets`"),
    activate: z.boolean().default(true).openapi({
      description: "`false` creates a preview, which only its own URL leads to",
    }),
  })
  .openapi("RevisionCreateRequest");
export type RevisionCreateRequest = z.infer<typeof RevisionCreateRequest>;

export const Revision = z
  .object({
    id: Uuid.describe("Id of the revision"),
    deployment_id: Uuid.describe("Id of the deployment"),
    status: RevisionStatus.describe("Status of the build and of the rollout"),
    is_preview: z.boolean().describe("Whether only the URL of the revision leads to it"),
    url: z.string().openapi({
      description: "URL of the agent server with this revision",
      example:
        "https://heddle.example.com/agents/support-agent/revisions/019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071",
    }),
    status_reason: z
      .string()
      .nullable()
      .openapi({ description: "Code of the reason, such as `ref_not_found`" }),
    status_message: z
      .string()
      .nullable()
      .openapi({ description: "Reason for the status, and how to correct it" }),
    source: z.string().openapi({ description: "Kind of the source", example: "github" }),
    source_revision_config: SourceRevisionConfig.describe("What is built"),
    repo_commit_sha: z
      .string()
      .nullable()
      .describe("Commit that was built, `null` before the source is fetched"),
    created_at: CreatedAt,
    updated_at: UpdatedAt,
  })
  .openapi("Revision");
export type Revision = z.infer<typeof Revision>;

export const RevisionsList = z
  .object({
    resources: z.array(Revision).describe("Revisions of the page"),
    offset: z.number().int().describe("Offset of the page"),
  })
  .openapi("RevisionsList");
export type RevisionsList = z.infer<typeof RevisionsList>;
