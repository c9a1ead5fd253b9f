import { z } from "@hono/zod-openapi";
import { isShallow, MAX_DEPTH } from "../../shared/http/depth.ts";
import { HttpUrl, textField, Uuid } from "../../shared/schema.ts";

const Command = z.string().max(1000);
const INSTALL =
  /^((npm (ci|i|install)|yarn( install)?|pnpm (i|install)|bun (i|install))( --[a-z-]+(=[a-z0-9.-]+)?)*)?$/;
const InstallCommand = Command.describe(
  "Command that installs the lockfile, such as `npm ci`. Heddle reads the lockfile and runs no command",
);
const BuildCommand = Command.describe(
  "Empty, or a command that installs. Heddle compiles TypeScript and runs no command",
);
const InstallCommandInput = InstallCommand.regex(
  INSTALL,
  'must be an install of npm, yarn, pnpm or bun, such as "npm ci": a build reads the lockfile and runs no command',
);
const BuildCommandInput = BuildCommand.regex(
  INSTALL,
  "must be empty: a build compiles TypeScript itself and runs no command; commit generated files, or upload a built source",
);

const RepoRef = z
  .string()
  .max(255)
  .refine(isRef, "must be a branch, refs/tags/<tag> or a commit id");

const TreePath = z
  .string()
  .max(512)
  .refine(isTreePath, "must be a path inside the repository, without a leading / and without ..");

export const DEPLOYMENT_TYPES = [
  "dev_free",
  "dev",
  "prod",
  "dev_zero",
  "dev_free_zero",
  "serverless",
] as const;

const Json = z.record(z.string(), z.unknown());

// Stored in the deployment's row, of which D1 takes 2 MB with all columns.
const MAX_SPEC_CHARACTERS = 64 * 1024;
const ResourceSpec = Json.refine(
  (spec) => isShallow(spec) && JSON.stringify(spec).length <= MAX_SPEC_CHARACTERS,
  `must be at most ${MAX_SPEC_CHARACTERS} characters of JSON, nested at most ${MAX_DEPTH} deep`,
);

const TarballPath = z.string().max(512).describe("`object_path` of an uploaded tarball");

export const SourceConfigInput = z.object({
  integration_id: Uuid.nullish().describe(
    "Id of the integration that reads the repository. `null` in an update removes it",
  ),
  repo_url: HttpUrl.nullish().describe("URL of the git repository. Required for `github`"),
  deployment_type: z
    .enum(DEPLOYMENT_TYPES)
    .nullish()
    .describe("Type of the deployment. Required for `github`"),
  build_on_push: z.boolean().nullish().describe("Whether a push to the branch creates a revision"),
  custom_url: HttpUrl.nullish().describe("Must be `null` or the deployment's URL: Heddle sets it"),
  resource_spec: ResourceSpec.nullish().describe("Resources. Stored and returned, without effect"),
  install_command: InstallCommandInput.nullish(),
  build_command: BuildCommandInput.nullish(),
});

export const RevisionConfigInput = z.object({
  repo_ref: RepoRef.nullish().describe(
    "Branch, `refs/tags/<tag>` or commit id. Required for `github`",
  ),
  agent_config_path: TreePath.nullish().describe("Path of the agent's configuration file"),
  langgraph_config_path: TreePath.nullish().describe("Path of `langgraph.json`"),
  image_uri: z.string().nullish().describe("Not supported: Heddle builds from source"),
  source_tarball_path: TarballPath.nullish(),
});
export type RevisionConfigInput = z.infer<typeof RevisionConfigInput>;

export const SourceConfig = z.object({
  integration_id: z.string().nullable().describe("Id of the integration that reads the repository"),
  repo_url: z.string().nullable().describe("URL of the git repository"),
  deployment_type: z.string().nullable().describe("Type of the deployment"),
  build_on_push: z.boolean().describe("Whether a push to the branch creates a revision"),
  custom_url: textField(
    "URL of the agent server, as in `url`",
    "https://heddle.example.com/agents/019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071",
  ),
  resource_spec: Json.nullable().describe("Resources. Stored and returned, without effect"),
  install_command: InstallCommand.nullable(),
  build_command: BuildCommand.nullable(),
});

export const SourceRevisionConfig = z.object({
  repo_ref: z.string().nullable().describe("Branch, `refs/tags/<tag>` or commit id"),
  agent_config_path: z.string().nullable().describe("Path of the agent's configuration file"),
  langgraph_config_path: z.string().nullable().describe("Path of `langgraph.json`"),
  image_uri: z.null().describe("Not supported: Heddle builds from source"),
  source_tarball_path: TarballPath.nullable(),
  repo_commit_sha: z
    .string()
    .nullable()
    .describe("Commit of the revision. For a deployment, that of its latest revision"),
});

/** A request that is accepted: which fields are required depends on the source. */
export const GITHUB_REQUEST = {
  example: {
    name: "support-agent",
    source: "github",
    source_config: {
      repo_url: "https://github.com/acme/support-agent",
      deployment_type: "dev",
      build_on_push: false,
    },
    source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" },
    secrets: [{ name: "OPENAI_API_KEY", value: "sk-..." }],
  },
};

function isRef(text: string): boolean {
  if (!/^[^\s\p{Cc}~^:?*[\\]+$/u.test(text) || /\.\.|@\{/.test(text)) return false;
  return !text.startsWith("-") && text.split("/").every((part) => /^[^.]/.test(part));
}

function isTreePath(text: string): boolean {
  if (text === "" || text.startsWith("/") || text.includes("\\")) return false;
  return !text.split("/").includes("..");
}
