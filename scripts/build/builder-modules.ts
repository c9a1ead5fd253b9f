import { readdirSync } from "node:fs";
import { join } from "node:path";

type Module = { type: "ESModule" | "CompiledWasm" | "Text"; path: string };

export const BUILDER_FOLDER = "dist/builder";

const TYPES: Record<string, Module["type"]> = { js: "ESModule", wasm: "CompiledWasm", txt: "Text" };

/** The built builder as Miniflare takes it: the entry first, then what stands beside it. */
export function builderModules(): Module[] {
  const names = readdirSync(BUILDER_FOLDER).sort(
    (a, b) => Number(b === "builder.js") - Number(a === "builder.js"),
  );
  return names.flatMap((name) => {
    const type = TYPES[name.split(".").at(-1) ?? ""];
    return type === undefined ? [] : [{ type, path: join(BUILDER_FOLDER, name) }];
  });
}
