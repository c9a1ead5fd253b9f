import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { BUILDER_FOLDER, builderModulesWithoutBundler } from "./scripts/build/builder-modules.ts";
import { bundleHostileAgent, bundleTestAgent } from "./test/support/node/agent-bundle.ts";
import { writeCounts } from "./test/support/node/counts-file.ts";
import { serveFrozen } from "./test/support/node/frozen.ts";

export default defineConfig({
  test: {
    projects: [
      {
        plugins: [
          cloudflareTest(async () => ({
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: {
              workers: [
                {
                  name: "heddle-builder",
                  modules: builderModulesWithoutBundler(),
                  modulesRoot: BUILDER_FOLDER,
                  compatibilityDate: "2026-11-01",
                  r2Buckets: { ARTIFACTS: "heddle-artifacts" },
                  workerLoaders: { LOADER: {} },
                },
              ],
              serviceBindings: { COUNTS: writeCounts, FROZEN: serveFrozen },
              bindings: {
                UPDATE_COUNTS: process.env.UPDATE_COUNTS ?? "",
                ENCRYPTION_KEYS: [["test", 7] as const, ["before", 8] as const]
                  .map(([id, byte]) => `${id}:${Buffer.alloc(32, byte).toString("base64")}`)
                  .join(","),
                OPERATOR_TOKEN: "operator-of-the-tests",
                AGENTS_DOMAIN: "agents.test",
                EGRESS_PRIVATE_BUILDS: "true",
                EGRESS_PRIVATE_EXPORTS: "true",
                EGRESS_PRIVATE_WEBHOOKS: "true",
                EGRESS_PRIVATE_OAUTH: "true",
                ATTACK_SEED: process.env.ATTACK_SEED ?? "11",
                TEST_AGENT: await bundleTestAgent(),
                HOSTILE_AGENT: await bundleHostileAgent(),
                TEST_MIGRATIONS: await readD1Migrations("./migrations"),
              },
            },
          })),
        ],
        test: {
          name: "workerd",
          // Two processes: the isolates of all tests would exceed the memory of one.
          maxWorkers: 2,
          isolate: false,
          // A busy machine must not decide a test.
          testTimeout: 60_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 50_000 } },
          include: ["test/**/*.test.ts"],
          exclude: ["test/node/**", "test/e2e/**", "test/s3/**", "test/clients/**"],
          globalSetup: ["test/support/node/workerd-setup.ts"],
          setupFiles: ["test/support/setup.ts"],
        },
      },
      {
        test: {
          name: "node",
          maxWorkers: 2,
          include: ["test/node/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 50_000 } },
        },
      },
      {
        test: {
          name: "e2e",
          // CI runs the tests of S3 against Ceph.
          include: ["test/e2e/**/*.test.ts", ...(process.env.CI ? [] : ["test/s3/**/*.test.ts"])],
          globalSetup: ["test/e2e/support/global-setup.ts"],
          setupFiles: ["test/e2e/support/failed-test-log.ts"],
          // The setup starts a stack for each worker.
          maxWorkers: 3,
          // Vitest requires another group for a project with another number of workers.
          sequence: { groupOrder: 1 },
          testTimeout: 300_000,
          hookTimeout: 300_000,
          expect: { poll: { timeout: 240_000 } },
        },
      },
      {
        test: {
          name: "s3",
          include: ["test/s3/**/*.test.ts"],
          globalSetup: ["test/s3/support/global-setup.ts"],
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 300_000,
          expect: { poll: { timeout: 240_000 } },
        },
      },
    ],
  },
});
