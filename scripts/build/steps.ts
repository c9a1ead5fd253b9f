// Builds what the scripts import from dist, and the local stack, the tests and `wrangler deploy` need.
import { buildBuildIsolate } from "./build-isolate.ts";
import { buildBundler } from "./bundler.ts";
import { buildConsole } from "./console.ts";
import { buildIsolate } from "./isolate.ts";
import { buildPrebuilt } from "./prebuilt.ts";
import { bundleScript } from "./script.ts";
import { runStep } from "./stamp.ts";
import { buildStyles } from "./styles.ts";
import { buildViewer } from "./viewer.ts";

/** Builds what the main script imports, and its assets. */
export async function buildMainModules(): Promise<void> {
  await Promise.all([
    runStep({
      name: "viewer",
      inputs: ["scripts/build/viewer.ts", "package-lock.json"],
      outputs: ["dist/docs/viewer.js.bin", "dist/docs/viewer.css.bin"],
      run: () => buildViewer("dist/docs"),
    }),
    runStep({
      name: "console",
      inputs: ["scripts/build/console.ts", "src/console/**/*.*", "package-lock.json"],
      outputs: ["dist/assets/console/index.html"],
      run: () => buildConsole("dist/assets"),
    }),
  ]);
}

/** Builds what the builder's script imports. */
export async function buildBuilderModules(): Promise<void> {
  await Promise.all([
    runStep({
      name: "prebuilt",
      inputs: [
        "scripts/build/prebuilt.ts",
        "src/control-plane/builds/prebuilt/unit.ts",
        "package.json",
        "package-lock.json",
      ],
      outputs: ["dist/prebuilt/units.js"],
      run: () => buildPrebuilt("dist/prebuilt"),
    }),
    runStep({
      name: "isolate",
      inputs: ["scripts/build/isolate.ts", "src/isolate/**/*.ts", "package-lock.json"],
      outputs: ["langgraph-agent", "plain-agent", "globals"].map((n) => `dist/isolate/${n}.txt`),
      run: () => buildIsolate("dist/isolate"),
    }),
    runStep({
      name: "styles",
      inputs: ["scripts/build/styles.ts", "package-lock.json"],
      outputs: ["dist/styles/tailwind.txt"],
      run: () => buildStyles("dist/styles"),
    }),
    buildIsolateOfBuilds(),
  ]);
}

async function buildIsolateOfBuilds(): Promise<void> {
  await runStep({
    name: "bundler",
    inputs: ["scripts/build/bundler.ts", "package-lock.json"],
    outputs: ["dist/bundler/browser.js"],
    run: () => buildBundler("dist/bundler"),
  });
  await runStep({
    name: "build-isolate",
    inputs: [
      "scripts/build/build-isolate.ts",
      "src/control-plane/builds/**/*.ts",
      "src/shared/**/*.ts",
      "dist/bundler/*",
      "package-lock.json",
    ],
    outputs: ["dist/build-isolate/build.txt"],
    run: () => buildBuildIsolate("dist/build-isolate"),
  });
}

/** Builds the builder for tests, which run it without a stack. */
export async function buildBuilder(outdir: string): Promise<void> {
  await runStep({
    name: "builder",
    inputs: [
      "scripts/build/script.ts",
      "src/builder.ts",
      "src/control-plane/builds/**/*.ts",
      "src/shared/**/*.ts",
      "dist/{prebuilt,isolate,build-isolate,styles}/*",
      "package-lock.json",
    ],
    outputs: [`${outdir}/builder.js`],
    run: () => bundleScript("src/builder.ts", outdir, "builder.js"),
  });
}
