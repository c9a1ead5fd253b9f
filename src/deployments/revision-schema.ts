import { z } from "@hono/zod-openapi";
import { list, Timestamp, Uuid } from "../shared/schema.ts";
import {
  NoSecretReferences,
  RevisionConfigInput,
  RevisionStatus,
  SecretInput,
  SourceConfigInput,
  SourceRevisionConfig,
} from "./schema.ts";

export const RevisionCreateRequest = z
  .object({
    source_config: SourceConfigInput.nullish(),
    source_revision_config: RevisionConfigInput.nullish(),
    secrets: list(SecretInput).nullish(),
    secret_references: NoSecretReferences,
    activate: z.boolean().default(true).openapi({
      description: "False makes a preview: it serves at its own URL alone, until it is promoted.",
    }),
  })
  .openapi("RevisionCreateRequest");
export type RevisionCreateRequest = z.infer<typeof RevisionCreateRequest>;

export const Revision = z
  .object({
    id: Uuid,
    deployment_id: Uuid,
    status: RevisionStatus,
    is_preview: z.boolean(),
    url: z.string().openapi({ description: "Where the agent server of this revision answers." }),
    status_reason: z
      .string()
      .nullable()
      .openapi({ description: "Why it ended as it did, for machines: ref_not_found ..." }),
    status_message: z
      .string()
      .nullable()
      .openapi({ description: "Why it ended as it did, for people." }),
    source: z.string(),
    source_revision_config: SourceRevisionConfig,
    repo_commit_sha: z.string().nullable(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .openapi("Revision");
export type Revision = z.infer<typeof Revision>;

export const RevisionsList = z
  .object({ resources: z.array(Revision), offset: z.number().int() })
  .openapi("RevisionsList");
export type RevisionsList = z.infer<typeof RevisionsList>;
