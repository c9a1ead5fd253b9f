import type { AgentConfig, NamedExport } from "../contract.ts";
import { BUNDLE_FOLDER, joinPath } from "../paths.ts";
import type { StateTypes } from "./state-types.ts";
import type { Schema } from "./type-schema.ts";

/** The module that the harness imports as `heddle:graphs`. It loads the agent's modules on demand. */
export function graphsModule(
  { folder, graphs, store, auth, app }: AgentConfig,
  types: StateTypes = {},
  contexts: Record<string, Schema | null> = {},
): string {
  const rows = Object.entries(graphs).map(([id, { path, export_name, description }]) => {
    const context = contexts[id] ?? null;
    const rest = JSON.stringify({ export_name, description, context }).slice(1, -1);
    return `  ${JSON.stringify(id)}: { ${loadText(path)}, ${rest} },`;
  });
  const typesText = `export const types = JSON.parse(${JSON.stringify(JSON.stringify(types))});`;
  const directory = JSON.stringify(joinPath(BUNDLE_FOLDER, folder));
  return [
    'import { Call } from "heddle:globals";',
    // Calls begin in the root.
    ...(folder === "" ? [] : [`Call.directory = ${directory};`]),
    typesText,
    "export const graphs = {",
    ...rows,
    "};",
    storeText(store),
    exportText("auth", auth),
    exportText("app", app),
    "",
  ].join("\n");
}

function storeText({ index, ttl }: AgentConfig["store"]): string {
  const rest = `ttl: ${JSON.stringify(ttl)} };`;
  if (!index) return `export const store = { index: null, ${rest}`;
  const { path, ...settings } = index;
  const indexText = `{ ${loadText(path)}, ${JSON.stringify(settings).slice(1, -1)} }`;
  return `export const store = { index: ${indexText}, ${rest}`;
}

function exportText(name: string, named: NamedExport | null): string {
  if (!named) return `export const ${name} = null;`;
  const { path, export_name } = named;
  return `export const ${name} = { ${loadText(path)}, export_name: ${JSON.stringify(export_name)} };`;
}

function loadText(path: string): string {
  return `load: () => import(${JSON.stringify(`/${path}`)})`;
}
