import { z } from "@hono/zod-openapi";
import {
  CreatedAt,
  list,
  namedObject,
  Timestamp,
  textField,
  UpdatedAt,
  Uuid,
} from "../../shared/schema.ts";
import { NoSecretReferences, RevisionStatus, SecretInput } from "./schema.ts";
import { RevisionConfigInput, SourceConfigInput, SourceRevisionConfig } from "./source-schema.ts";

export const RevisionCreateRequest = namedObject("RevisionCreateRequest", {
  source_config: SourceConfigInput.nullish().describe("Changes to the source and the build"),
  source_revision_config: RevisionConfigInput.nullish().describe("Changes to what is built"),
  secrets: list(SecretInput)
    .nullish()
    .describe("Replaces all secrets of the deployment. An empty list removes all"),
  secret_references: NoSecretReferences.describe("Must be empty: use `secrets`"),
  activate: z
    .boolean()
    .default(true)
    .describe("`false` creates a preview, which only its own URL leads to"),
});
export type RevisionCreateRequest = z.infer<typeof RevisionCreateRequest>;

export const REVISION_TRIGGERS = ["api", "cli", "console", "push", "redeploy", "secrets"] as const;
export type RevisionTrigger = (typeof REVISION_TRIGGERS)[number];

export const REVISION_STEPS = ["queue", "fetch", "install", "bundle", "load", "deploy"] as const;

const RevisionStep = z.object({
  name: z
    .enum(REVISION_STEPS)
    .describe(
      "`queue` lasts until the last attempt of the build begins, `load` loads the graphs once",
    ),
  status: z
    .enum(["pending", "running", "success", "error", "cancelled", "skipped"])
    .describe("`skipped` for a step that the build did not reach or did not need"),
  started_at: Timestamp.nullable().describe("Start of the step, `null` before it"),
  ended_at: Timestamp.nullable().describe("End of the step, `null` before it"),
  duration_ms: z.number().int().nullable().describe("Duration in milliseconds"),
});
export type RevisionStep = z.infer<typeof RevisionStep>;

export const Revision = namedObject("Revision", {
  id: Uuid.describe("Id of the revision"),
  deployment_id: Uuid.describe("Id of the deployment"),
  number: z.number().int().openapi({
    description: "1, 2, 3 and so on within the deployment, previews included",
    example: 4,
  }),
  status: RevisionStatus.describe("Status of the build and of the rollout"),
  is_preview: z.boolean().describe("Whether only the URL of the revision leads to it"),
  url: textField(
    "URL of the agent server with this revision",
    "https://heddle.example.com/agents/019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071/revisions/019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6072",
  ),
  status_reason: z.string().nullable().describe("Code of the reason, such as `ref_not_found`"),
  status_message: z
    .string()
    .nullable()
    .describe(
      "Reason for the status, and how to correct it. On a `DEPLOYED` revision: why this version of Heddle does not run it",
    ),
  source: textField("Kind of the source", "github"),
  source_revision_config: SourceRevisionConfig.describe("What is built"),
  repo_commit_sha: z.string().nullable().describe("Commit of the code, `null` until it is known"),
  repo_commit_message: z.string().nullable().openapi({
    description: "First line of the commit's message, `null` when the host did not give it",
    example: "Require approval of refunds over 100 EUR",
  }),
  repo_commit_authored_at: Timestamp.nullable().describe("When the commit was made"),
  trigger: z
    .enum(REVISION_TRIGGERS)
    .nullable()
    .describe(
      "Created by: a request with a key, the upload of a folder by a command line, the console, a push, a redeploy, new secrets",
    ),
  changed_secrets: z
    .array(z.string())
    .nullable()
    .openapi({
      description:
        "Names of the secrets that were set or removed with it, `null` when none were sent with it",
      example: ["OPENAI_API_KEY"],
    }),
  steps: z
    .array(RevisionStep)
    .describe("Steps of the build in order. Empty for code that was not built again"),
  error_log_id: z.string().nullable().openapi({
    description: "Id of the line of the build log with the reason of a failure",
    example: "4711",
  }),
  created_at: CreatedAt,
  updated_at: UpdatedAt,
});
export type Revision = z.infer<typeof Revision>;

export const RevisionsList = namedObject("RevisionsList", {
  resources: z.array(Revision).describe("Revisions of the page"),
  offset: z.number().int().describe("`offset` of the next page"),
});
export type RevisionsList = z.infer<typeof RevisionsList>;
