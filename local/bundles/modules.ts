// The modules of a bundled script, as Miniflare and as Cap'n Proto name their types.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

type ModuleType = { miniflare: string; capnp: string };
type Module = { type: string; path: string; contents: string | Uint8Array };

const TYPES: Record<string, ModuleType> = {
  js: { miniflare: "ESModule", capnp: "esModule" },
  bin: { miniflare: "Data", capnp: "data" },
  txt: { miniflare: "Text", capnp: "text" },
  wasm: { miniflare: "CompiledWasm", capnp: "wasm" },
};

/** Returns the modules with their contents, for the options of Miniflare. */
export async function readModules(folder: string, entry: string): Promise<Module[]> {
  return Promise.all(
    (await listModules(folder, entry)).map(async ({ name, type }) => {
      const path = join(folder, name);
      const bytes = await readFile(path);
      const isText = type.capnp === "esModule" || type.capnp === "text";
      return { type: type.miniflare, path, contents: isText ? bytes.toString() : bytes };
    }),
  );
}

/** Returns Cap'n Proto text for a file in the same folder, which embeds the modules by their names. */
export async function embedModules(folder: string, entry: string): Promise<string> {
  const modules = (await listModules(folder, entry)).map(
    ({ name, type }) => `(name = "${name}", ${type.capnp} = embed "${name}")`,
  );
  return `[${modules.join(", ")}]`;
}

/** Lists the entry first: workerd runs the first module of a Worker. */
async function listModules(folder: string, entry: string) {
  const names = (await readdir(folder)).filter((name) => name !== entry);
  return [entry, ...names].flatMap((name) => {
    const type = TYPES[name.split(".").at(-1) ?? ""];
    return type === undefined ? [] : [{ name, type }];
  });
}
