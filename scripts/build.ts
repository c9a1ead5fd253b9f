// Builds what the local stack, the tests and `wrangler deploy` need beside the sources; nothing of dist is committed.
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { buildBuildIsolate } from "./build/build-isolate.ts";
import { buildBundler } from "./build/bundler.ts";
import { buildIsolate } from "./build/isolate.ts";
import { buildRuntime } from "./build/runtime.ts";
import { runStep } from "./build/stamp.ts";
import { buildStyles } from "./build/styles.ts";
import { buildViewer } from "./build/viewer.ts";

await runStep({
  name: "viewer",
  inputs: ["scripts/build/viewer.ts", "package-lock.json"],
  outputs: ["dist/docs/viewer.js.bin", "dist/docs/viewer.css.bin"],
  run: () => buildViewer("dist/docs"),
});

await runStep({
  name: "runtime",
  inputs: ["scripts/build/runtime.ts", "package-lock.json"],
  outputs: ["dist/runtime/runtime.txt"],
  run: () => buildRuntime("dist/runtime"),
});

await runStep({
  name: "bundler",
  inputs: ["scripts/build/bundler.ts", "package-lock.json"],
  outputs: ["dist/bundler/browser.js"],
  run: () => buildBundler("dist/bundler"),
});

await runStep({
  name: "isolate",
  inputs: ["scripts/build/isolate.ts", "src/isolate/**/*.ts", "package-lock.json"],
  outputs: ["langgraph-agent", "plain-agent", "globals"].map((n) => `dist/isolate/${n}.txt`),
  run: () => buildIsolate("dist/isolate"),
});

await runStep({
  name: "styles",
  inputs: ["scripts/build/styles.ts", "package-lock.json"],
  outputs: ["dist/styles/tailwind.txt"],
  run: () => buildStyles("dist/styles"),
});

await runStep({
  name: "build-isolate",
  inputs: [
    "scripts/build/build-isolate.ts",
    "src/builds/**/*.ts",
    "src/shared/**/*.ts",
    "dist/bundler/*",
    "package-lock.json",
  ],
  outputs: ["dist/build-isolate/build.txt"],
  run: () => buildBuildIsolate("dist/build-isolate"),
});

await runStep({
  name: "builder",
  inputs: [
    "scripts/build.ts",
    "src/builder.ts",
    "src/builds/**/*.ts",
    "src/shared/**/*.ts",
    "dist/{runtime,isolate,build-isolate,styles}/*",
    "wrangler.builder.toml",
    "package-lock.json",
  ],
  outputs: ["dist/builder/builder.js"],
  run: buildBuilder,
});

function buildBuilder() {
  rmSync("dist/builder", { recursive: true, force: true });
  const args = ["deploy", "--dry-run", "-c", "wrangler.builder.toml", "--env="];
  args.push("--outdir", "dist/builder");
  execFileSync("wrangler", args, {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, WRANGLER_SEND_METRICS: "false" },
  });
}
