import { isRecord } from "../../../shared/guards.ts";
import type { AgentConfig, NamedExport } from "../contract.ts";
import { BuildFailure } from "../failure.ts";
import { JSON_BYTES } from "../limits.ts";
import { directoryOf, joinPath } from "../paths.ts";
import { assertContent } from "../source/references.ts";
import { listText } from "../text.ts";
import type { Tree } from "../tree.ts";
import { assertAll, minutes, oneOf } from "./config-checks.ts";
import {
  type ConfigLocation,
  findScript,
  readExport,
  SCRIPT,
  section,
  wrong,
} from "./config-values.ts";
import { readHttp } from "./http-config.ts";
import { assertSize, readJson } from "./json-file.ts";
import { readStore } from "./store-config.ts";
import { readUi } from "./ui-config.ts";
import { assertWebhooks } from "./webhooks-config.ts";

const EXTENSIONS = "(.js, .mjs, .ts, .tsx ...)";

type GraphEntry = AgentConfig["graphs"][string];

/** Reads langgraph.json. Returned paths are relative to the root of the source. */
export function readConfig(tree: Tree, config_path: string): AgentConfig {
  const path = joinPath("", config_path);
  assertContent(tree, path, "config_not_found");
  const bytes = tree.files.get(path);
  if (bytes === undefined) throw configNotFound(tree, path);
  const raw = toObject(path, textOf(path, bytes));
  const folder = directoryOf(path);
  assertWebhooks({ tree, path, folder }, raw.webhooks);
  assertCheckpointer({ tree, path, folder }, raw.checkpointer);
  return {
    folder,
    graphs: readGraphs(tree, path, folder, raw.graphs),
    env: readEnv(tree, path, folder, raw.env),
    store: readStore({ tree, path, folder }, raw.store),
    auth: readAuth({ tree, path, folder }, raw.auth),
    app: readHttp({ tree, path, folder }, raw.http),
    ui: readUi({ tree, path, folder }, raw.ui, raw.ui_config),
    raw,
  };
}

function textOf(path: string, bytes: Uint8Array): string {
  assertSize(path, bytes.byteLength, JSON_BYTES.config, "config_invalid");
  return new TextDecoder().decode(bytes);
}

function toObject(path: string, text: string): Record<string, unknown> {
  const value = readJson(path, text, JSON_BYTES.config, "config_invalid");
  if (!isRecord(value)) throw wrong(path, "the file", "an object", value);
  return value;
}

function readGraphs(
  tree: Tree,
  path: string,
  folder: string,
  graphs: unknown,
): AgentConfig["graphs"] {
  if (!isRecord(graphs))
    throw wrong(path, '"graphs"', 'an object like {"agent": "./src/agent.ts:graph"}', graphs);
  const entries = Object.entries(graphs);
  if (entries.length === 0) {
    throw new BuildFailure("config_invalid", `${path}: "graphs" must have at least one graph.`);
  }
  return Object.fromEntries(
    entries.map(([id, value]) => [id, readGraph(tree, path, folder, id, value)]),
  );
}

function readGraph(
  tree: Tree,
  path: string,
  folder: string,
  id: string,
  value: unknown,
): GraphEntry {
  const entry = isRecord(value) ? value : { path: value };
  if (typeof entry.path !== "string" || entry.path === "") {
    throw wrong(path, `"graphs.${id}"`, '"file:export" or {"path": "file:export"}', value);
  }
  const description = entry.description ?? null;
  if (description !== null && typeof description !== "string") {
    throw wrong(path, `"graphs.${id}.description"`, "text", description);
  }
  const [file = "", ...rest] = entry.path.split(":");
  const source = joinPath(folder, file);
  assertScript(tree, id, source);
  return {
    path: findFile(tree, path, id, source),
    export_name: rest.join(":") || "default",
    description,
  };
}

function assertScript(tree: Tree, id: string, source: string) {
  if (SCRIPT.test(source)) return;
  const script = [...tree.files.keys()].find((name) => name.replace(SCRIPT, "") === source);
  if (script !== undefined) {
    const text = `Graph "${id}" is in ${script}: name the file with its extension, not ${source}.`;
    throw new BuildFailure("config_invalid", text);
  }
  const isPython = source.endsWith(".py") || !/\.\w+$/.test(source);
  const what = isPython ? "Python" : "neither JavaScript nor TypeScript";
  const text = `Heddle runs JavaScript and TypeScript graphs ${EXTENSIONS}; graph "${id}" is ${what} (${source}).`;
  throw new BuildFailure(isPython ? "unsupported_language" : "config_invalid", text);
}

function findFile(tree: Tree, path: string, id: string, source: string): string {
  const found = findScript(tree, source, "graph_not_found");
  if (found !== undefined) return found;
  const target = tree.links.get(source);
  const link = target === undefined ? "" : `, a link to ${target}`;
  const folder = directoryOf(source);
  const names = [...tree.files.keys()];
  const beside = names.filter((name) => directoryOf(name) === folder && SCRIPT.test(name)).sort();
  const scripts = beside.length > 0 ? beside : names.filter((name) => SCRIPT.test(name)).sort();
  const there =
    scripts.length > 0
      ? `There is ${listText(scripts, 8)}.`
      : "The source has no JavaScript or TypeScript file.";
  throw new BuildFailure(
    "graph_not_found",
    `${path}: graph "${id}" is in ${source}${link}, which does not exist. ${there}`,
  );
}

function readEnv(tree: Tree, path: string, folder: string, env: unknown): Record<string, string> {
  if (env === undefined || env === null) return {};
  if (typeof env === "string") {
    const file = joinPath(folder, env);
    const bytes = tree.files.get(file);
    // A .env file is rarely in the repository. Its values then come from the deployment's secrets.
    return bytes === undefined ? {} : parseEnv(textOf(file, bytes));
  }
  // A list has the names of variables. Their values come from the deployment's secrets.
  if (Array.isArray(env)) return {};
  if (!isRecord(env))
    throw wrong(path, '"env"', "a path of an .env file or an object of texts", env);
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => {
      if (["string", "number", "boolean"].includes(typeof value)) return [name, String(value)];
      throw wrong(path, `"env.${name}"`, "text", value);
    }),
  );
}

/** `LINE` of dotenv 17, except that a match never starts in a blank line: many of them would take quadratic time. */
const ENV_LINE =
  /^[^\S\r\n\u2028\u2029]*(?:export\s+)?([\w.-]+)(?:\s*=\s*?|:\s+?)(\s*'(?:\\'|[^'])*'|\s*"(?:\\"|[^"])*"|\s*`(?:\\`|[^`])*`|[^#\r\n]+)?\s*(?:#.*)?$/gm;

/** Parses an .env file as dotenv 17 does. */
export function parseEnv(text: string): Record<string, string> {
  const lines = text.replace(/\r\n?/g, "\n");
  const env: Record<string, string> = {};
  for (const [, name = "", value = ""] of lines.matchAll(ENV_LINE))
    env[name] = unquote(value.trim());
  return env;
}

/** Keeps `\"` in quotes, as dotenv does. */
function unquote(value: string): string {
  const inner = value.replace(/^(["'`])([\s\S]*)\1$/, "$2");
  return value.startsWith('"') ? inner.replaceAll("\\n", "\n").replaceAll("\\r", "\r") : inner;
}

function configNotFound(tree: Tree, path: string): BuildFailure {
  const found = [...tree.files.keys()].filter((name) => /(^|\/)langgraph\.json$/.test(name)).sort();
  const hint =
    found.length > 0
      ? `There is ${listText(found)}; name it as langgraph_config_path.`
      : `It must map graphs to files and exports: {"graphs": {"agent": "./src/agent.ts:graph"}}.`;
  return new BuildFailure("config_not_found", `The source has no ${path}. ${hint}`);
}

const THREAD_TTL = { default_ttl: minutes(10), strategy: oneOf(["delete", "keep_latest"]) };

function assertCheckpointer(place: ConfigLocation, value: unknown): void {
  const { ttl } = section(place, "checkpointer", value);
  assertAll(place, "checkpointer.ttl", section(place, "checkpointer.ttl", ttl), THREAD_TTL);
}

const AUTH = '"file:export" of an Auth of @langchain/langgraph-sdk/auth, like "./src/auth.ts:auth"';

/** Reads `auth` of langgraph.json. */
function readAuth(place: ConfigLocation, value: unknown): NamedExport | null {
  const { path, disable_studio_auth = null } = section(place, "auth", value);
  if (disable_studio_auth !== null && typeof disable_studio_auth !== "boolean") {
    throw wrong(place.path, '"auth.disable_studio_auth"', "true or false", disable_studio_auth);
  }
  return path === undefined || path === null ? null : readExport(place, "auth.path", path, AUTH);
}
