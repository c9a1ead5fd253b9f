// Builds what the local stack, the tests and `wrangler deploy` need beside the sources: the builder script.
import { execFileSync } from "node:child_process";

execFileSync(
  "wrangler",
  ["deploy", "--dry-run", "-c", "wrangler.builder.toml", "--outdir", "dist/builder"],
  {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, WRANGLER_SEND_METRICS: "false" },
  },
);
