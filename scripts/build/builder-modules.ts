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

/** A WebAssembly module of nothing. */
const EMPTY = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

/**
 * The builder as far as the bundling. esbuild's 14 MB would be handed to workerd anew for every
 * test file, which takes longer than most files do; whole builds are for e2e.
 */
export function builderModulesWithoutBundler(): Module[] {
  return builderModules().map((module) =>
    module.type === "CompiledWasm" ? { ...module, contents: EMPTY } : module,
  );
}

/** The built builder in Miniflare's form: the entry first, then its modules. */
export function builderModules(): Module[] {
  const names = readdirSync(BUILDER_FOLDER).sort(
    (a, b) => Number(b === "builder.js") - Number(a === "builder.js"),
  );
  return names.flatMap((name) => {
    const type = TYPES[name.split(".").at(-1) ?? ""];
    return type === undefined ? [] : [{ type, path: join(BUILDER_FOLDER, name) }];
  });
}
