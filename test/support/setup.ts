import { applyD1Migrations } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { D1Migration } from "@cloudflare/vitest-plugin";

declare global {
  namespace Cloudflare {
    interface Env {
      COUNTS: Fetcher;
      FROZEN: Fetcher;
      UPDATE_COUNTS: string;
      OPERATOR_TOKEN: string;
      ATTACK_SEED: string;
      TEST_AGENT: string;
      HOSTILE_AGENT: string;
      TEST_MIGRATIONS: D1Migration[];
    }
  }
}

await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);
