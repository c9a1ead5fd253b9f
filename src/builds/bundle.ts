import wasm from "esbuild-wasm/esbuild.wasm";
import * as esbuild from "esbuild-wasm/esm/browser.js";
import { BuildFailure } from "./failure.ts";
import { BUNDLE_TIMEOUT_MS } from "./limits.ts";
import type { TsConfig } from "./tsconfig.ts";

export type Bundled =
  | { ok: true; code: string; map: string; warnings: string[] }
  | { ok: false; errors: string[] };

let started: Promise<void> | null = null;

/** One esbuild per isolate: starting it costs more than a small bundle. */
function startEsbuild(): Promise<void> {
  started ??= esbuild.initialize({ wasmModule: wasm, worker: false }).catch((error: unknown) => {
    started = null;
    throw error;
  });
  return started;
}

/** After a crash or a stall the next build gets a new one. */
function stopEsbuild(): void {
  void esbuild.stop();
  started = null;
}

export async function bundle(
  entry: string,
  plugin: esbuild.Plugin,
  { compilerOptions }: TsConfig,
): Promise<Bundled> {
  const work = startEsbuild().then(() =>
    esbuild.build({
      entryPoints: [entry],
      bundle: true,
      write: false,
      outfile: "/main.js",
      absWorkingDir: "/",
      format: "esm",
      platform: "neutral",
      target: "es2024",
      sourcemap: "external",
      sourcesContent: false,
      legalComments: "none",
      define: { "process.env.NODE_ENV": '"production"' },
      tsconfigRaw: { compilerOptions },
      logLevel: "silent",
      plugins: [plugin],
    }),
  );
  try {
    return toBundled(await inTime(work));
  } catch (error) {
    if (isBuildError(error)) return { ok: false, errors: error.errors.map(toLine) };
    stopEsbuild();
    throw error;
  }
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(
        new BuildFailure("timed_out", `Bundling took more than ${BUNDLE_TIMEOUT_MS / 1000} s.`),
      );
    }, BUNDLE_TIMEOUT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function toBundled(result: esbuild.BuildResult<{ write: false }>): Bundled {
  const text = (name: string) =>
    result.outputFiles.find(({ path }) => path.endsWith(name))?.text ?? "";
  const warnings = result.warnings.filter(
    ({ location }) => !location?.file.includes("node_modules/"),
  );
  return {
    ok: true,
    code: text("main.js"),
    map: text("main.js.map"),
    warnings: warnings.map(toLine),
  };
}

function isBuildError(error: unknown): error is esbuild.BuildFailure {
  return error instanceof Error && "errors" in error && Array.isArray(error.errors);
}

/** `src/agent.ts:3:14: message`, as editors and terminals make links of. */
function toLine({ text, location }: esbuild.Message): string {
  if (location === null) return text;
  return `${location.file.replace(/^\/+/, "")}:${location.line}:${location.column + 1}: ${text}`;
}
