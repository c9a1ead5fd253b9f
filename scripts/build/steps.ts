// Builds what the Worker's scripts import from dist, for the local stack, the tests and `wrangler deploy`. A step
// imports its code only when it runs: loading the code takes longer than finding that nothing has changed.
import { runStep } from "./stamp.ts";

/** Builds what the main script imports, and its assets. */
export async function buildMainModules(): Promise<void> {
  await Promise.all([
    runStep({
      name: "viewer",
      inputs: ["scripts/build/viewer.ts", "package-lock.json"],
      outputs: ["dist/docs/viewer.js.bin", "dist/docs/viewer.css.bin"],
      run: async () => (await import("./viewer.ts")).buildViewer("dist/docs"),
    }),
    runStep({
      name: "console",
      inputs: ["scripts/build/console.ts", "src/console/**/*.*", "package-lock.json"],
      outputs: ["dist/assets/console/index.html"],
      run: async () => (await import("./console.ts")).buildConsole("dist/assets"),
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
      run: async () => (await import("./prebuilt.ts")).buildPrebuilt("dist/prebuilt"),
    }),
    runStep({
      name: "isolate",
      inputs: ["scripts/build/isolate.ts", "src/isolate/**/*.ts", "package-lock.json"],
      outputs: ["langgraph-agent", "early-langgraph-agent", "plain-agent", "globals", "ajv"].map(
        (n) => `dist/isolate/${n}.txt`,
      ),
      run: async () => (await import("./isolate.ts")).buildIsolate("dist/isolate"),
    }),
    runStep({
      name: "styles",
      inputs: ["scripts/build/styles.ts", "package-lock.json"],
      outputs: ["dist/styles/tailwind.txt"],
      run: async () => (await import("./styles.ts")).buildStyles("dist/styles"),
    }),
    buildIsolateOfBuilds(),
  ]);
}

async function buildIsolateOfBuilds(): Promise<void> {
  await runStep({
    name: "bundler",
    inputs: ["scripts/build/bundler.ts", "package-lock.json"],
    outputs: ["dist/bundler/browser.js"],
    run: async () => (await import("./bundler.ts")).buildBundler("dist/bundler"),
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
    run: async () => (await import("./build-isolate.ts")).buildBuildIsolate("dist/build-isolate"),
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
    run: async () => {
      const { bundleScript } = await import("./script.ts");
      await bundleScript("src/builder.ts", outdir, "builder.js");
    },
  });
}
