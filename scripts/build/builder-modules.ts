import { readdirSync } from "node:fs";
import { join } from "node:path";

type Module = {
  type: "ESModule" | "CompiledWasm" | "Text" | "Data";
  path: string;
  contents?: Uint8Array<ArrayBuffer>;
};

export const BUILDER_FOLDER = "dist/builder";

const TYPES: Record<string, Module["type"]> = {
  js: "ESModule",
  wasm: "CompiledWasm",
  txt: "Text",
  bin: "Data",
};

/** An empty WebAssembly module: the magic number and version 1. */
const EMPTY = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

/**
 * Returns the builder with an empty module in place of esbuild, so that it works up to the bundling. Handing esbuild's
 * 14 MB to workerd for every test file would take longer than most files. Tests of e2e run whole builds.
 */
export function builderModulesWithoutBundler(): Module[] {
  return builderModules().map((module) =>
    module.type === "CompiledWasm" ? { ...module, contents: EMPTY } : module,
  );
}

/** Returns the built builder in Miniflare's form: the entry first, then its modules. */
export function builderModules(): Module[] {
  const names = readdirSync(BUILDER_FOLDER).sort(
    (a, b) => Number(b === "builder.js") - Number(a === "builder.js"),
  );
  return names.flatMap((name) => {
    const type = TYPES[name.split(".").at(-1) ?? ""];
    return type === undefined ? [] : [{ type, path: join(BUILDER_FOLDER, name) }];
  });
}
