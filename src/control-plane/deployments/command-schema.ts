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
