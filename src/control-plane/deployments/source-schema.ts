import { z } from "@hono/zod-openapi";

const Command = z.string().max(1000);
const INSTALL =
  /^((npm (ci|i|install)|yarn( install)?|pnpm (i|install)|bun (i|install))( --[a-z-]+(=[a-z0-9.-]+)?)*)?$/;
export const InstallCommand = Command.describe(
  "Command that installs the lockfile, such as `npm ci`. Heddle reads the lockfile and runs no command",
);
export const BuildCommand = Command.describe(
  "Empty, or a command that installs. Heddle compiles TypeScript and runs no command",
);
export const InstallCommandInput = InstallCommand.regex(
  INSTALL,
  'must be an install of npm, yarn, pnpm or bun, such as "npm ci": a build reads the lockfile and runs no command',
);
export const BuildCommandInput = BuildCommand.regex(
  INSTALL,
  "must be empty: a build compiles TypeScript itself and runs no command; commit generated files, or upload a built source",
);

export const RepoRef = z
  .string()
  .max(255)
  .refine(isRef, "must be a branch, refs/tags/<tag> or a commit id");

export const TreePath = z
  .string()
  .max(512)
  .refine(isTreePath, "must be a path inside the repository, without a leading / and without ..");

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
