import type { AgentConfig, NamedExport } from "../contract.ts";
import type { StateTypes } from "./state-types.ts";
import type { Schema } from "./type-schema.ts";

/** The module that the harness imports as `heddle:graphs`. */
export function graphsModule(
  { graphs, store, auth, app }: AgentConfig,
  types: StateTypes = {},
  contexts: Record<string, Schema | null> = {},
): string {
  const entries = Object.entries(graphs);
  const imports = entries.map(
    ([, { path }], index) => `import * as g${index} from ${JSON.stringify(`/${path}`)};`,
  );
  const rows = entries.map(([id, { export_name, description }], index) => {
    const context = contexts[id] ?? null;
    const rest = JSON.stringify({ export_name, description, context }).slice(1, -1);
    return `  ${JSON.stringify(id)}: { module: g${index}, ${rest} },`;
  });
  const typesText = `export const types = JSON.parse(${JSON.stringify(JSON.stringify(types))});`;
  return [
    'import "heddle:globals";',
    ...imports,
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
  return [
    `import * as embedding from ${JSON.stringify(`/${path}`)};`,
    `export const store = { index: { module: embedding, ${JSON.stringify(settings).slice(1, -1)} }, ${rest}`,
  ].join("\n");
}

function exportText(name: string, named: NamedExport | null): string {
  if (!named) return `export const ${name} = null;`;
  const { path, export_name } = named;
  return [
    `import * as ${name}Module from ${JSON.stringify(`/${path}`)};`,
    `export const ${name} = { module: ${name}Module, export_name: ${JSON.stringify(export_name)} };`,
  ].join("\n");
}
