import { basename } from "node:path";
import { featureOf, type Source } from "./sources.ts";

/** Files of a feature that the features after it may import. */
const PUBLIC = /^([a-z0-9-]+-)?(service|schema|contract)\.ts$/;

/**
 * Features from the bottom to the top, each with the features it imports. Beside their public files it may
 * import the named ones.
 */
const FEATURES: Record<string, Record<string, string[]>> = {
  shared: {},
  isolate: {},
  tail: {},
  workspaces: {},
  health: {},
  quotas: { health: ["metrics-object.ts"] },
  traces: { quotas: [], workspaces: [] },
  exports: { quotas: [], traces: ["packed-texts.ts"], workspaces: [] },
  usage: { exports: [], quotas: [], traces: [], workspaces: [] },
  oauth: { workspaces: [] },
  deployments: { quotas: [], traces: [], workspaces: [], builds: [], isolate: [] },
  builds: { deployments: ["isolate.ts", "revision-code.ts"], isolate: [], workspaces: [] },
  access: {
    deployments: ["agent-answers.ts", "isolate.ts"],
    isolate: [],
    workspaces: ["auth.ts"],
  },
  store: {
    access: [],
    deployments: ["agent-answers.ts", "isolate.ts"],
    isolate: ["message-size.ts"],
  },
  webhooks: {
    access: [],
    deployments: ["callbacks.ts", "revision-code.ts"],
    traces: ["request-batches.ts", "target.ts"],
  },
  threads: {
    access: [],
    deployments: ["agent-answers.ts", "isolate.ts", "revision-code.ts"],
    isolate: ["hidden-fields.ts"],
    quotas: [],
    store: [],
    traces: [],
    webhooks: ["trace-export.ts"],
    workspaces: [],
  },
  streaming: {
    access: [],
    deployments: [],
    threads: [
      ...["command.ts", "event.ts", "filter.ts", "session.ts"],
      ...["records.ts", "run-http.ts", "state-answers.ts", "stub.ts"],
    ],
    workspaces: ["auth.ts"],
  },
  alerts: { quotas: [], traces: [], usage: [], webhooks: ["sweep.ts"] },
  lookup: { access: [], deployments: [], exports: [], threads: ["directory.ts"], traces: [] },
  crons: {
    access: [],
    deployments: [],
    threads: ["assistant-ids.ts", "build-run.ts", "stub.ts"],
    webhooks: [],
    workspaces: [],
  },
  mcp: { access: [], threads: ["assistant-ids.ts", "records.ts", "run-http.ts"] },
  a2a: { access: ["agent-urls.ts"], threads: ["assistant-ids.ts", "records.ts", "run-http.ts"] },
  openapi: {
    access: ["agent-urls.ts", "http-settings.ts", "request.ts"],
    deployments: [],
    traces: ["ingestion-paths.ts", "tracing-info.ts"],
  },
  ui: {
    access: ["agent-urls.ts", "http-settings.ts"],
    deployments: [],
    threads: ["run-assistants.ts"],
  },
};

const THREADS = "src/agent-server/threads/";
/** Folders of the threads from the bottom to the top, each with those that it imports. */
const THREAD_FOLDERS: Record<string, string[]> = {
  contract: [],
  events: ["contract"],
  directory: ["contract"],
  object: ["contract", "events", "directory"],
  api: ["contract", "events", "directory"],
};
/** Files that each folder may import: the address of the Durable Object, the types of its methods, the callbacks. */
const OPEN_FILES = ["object/stub.ts", "object/thread-calls.ts", "callbacks.ts"];

/** The feature of the pages: they import types of other features' schemas, and run no code of the Worker. */
const CONSOLE = "console";
const PAGES = /^src\/console\/pages\/([^/]+)\//;
const IMPORTED_VALUE = /^(?:import|export)\s(?!type\s)[^;"']*?\sfrom\s"([^"]+)"/gm;

type FileRule = { file: RegExp; forbids: RegExp; because: string };

/** Rules for files by their name, within one feature and across features. */
const FILES: FileRule[] = [
  {
    file: /(^|-)routes\.ts$/,
    forbids: /^drizzle-orm|(^|-)table\.ts$|^(object|stub)\.ts$/,
    because: "a route states the contract and calls a service",
  },
  {
    file: /(^|-)schema\.ts$/,
    forbids:
      /^(drizzle-orm|hono$|cloudflare:)|(^|-)(table|service|routes)\.ts$|^(object|stub)\.ts$/,
    because: "a schema is zod and nothing that reads or writes",
  },
  {
    file: /(^|-)table\.ts$/,
    forbids: /^(hono|cloudflare:)|(^|-)routes\.ts$|^(object|stub)\.ts$/,
    because: "a table describes columns",
  },
  {
    file: /^object\.ts$/,
    forbids: /^(hono|@hono)|(^|-)(routes|service)\.ts$/,
    because: "a Durable Object knows its storage, not HTTP or services",
  },
];

/** Imports entrypoints, which then are called by name: no import of their files shows it. */
const EXPORTS = /^import \{[^}]*\bexports\b[^}]*\} from "cloudflare:workers"/m;

/** Modules that the build generates from `src/isolate`; the builder carries them as data. */
const GENERATED = /^dist\//;

export function importViolations(sources: readonly Source[]): string[] {
  return sources.flatMap((source) => [
    ...(featureOf(source.path) === CONSOLE ? consoleViolations : featureViolations)(source),
    ...fileViolations(source),
    ...threadViolations(source),
    ...callbackViolations(source),
  ]);
}

function threadViolations({ path, files }: Source): string[] {
  const imports = THREAD_FOLDERS[threadFolderOf(path)];
  if (!imports) return [];
  return files
    .filter((file) => file.startsWith(THREADS) && !OPEN_FILES.includes(file.slice(THREADS.length)))
    .filter((file) => ![threadFolderOf(path), ...imports].includes(threadFolderOf(file)))
    .map((file) => `${path}: may not import ${file}, which is above it or the other side`);
}

/** Returns an empty text outside of the threads. */
function threadFolderOf(path: string): string {
  return path.startsWith(THREADS) ? (path.slice(THREADS.length).split("/")[0] ?? "") : "";
}

function callbackViolations({ path, text }: Source): string[] {
  if (featureOf(path) === null || basename(path) === "callbacks.ts") return [];
  if (!EXPORTS.test(text)) return [];
  return [`${path}: may not import exports of cloudflare:workers, which only callbacks.ts names`];
}

function consoleViolations({ path, text, files }: Source): string[] {
  const values = [...text.matchAll(IMPORTED_VALUE)].map(([, name = ""]) => basename(name));
  const foreign = files
    .filter((file) => featureOf(file) !== CONSOLE)
    .filter((file) => !/(^|-)schema\.ts$/.test(basename(file)) || values.includes(basename(file)))
    .map((file) => `${path}: may not import ${file}, because pages import types of schemas only`);
  const pages = files
    .filter((file) => isOtherPage(file, path))
    .map((file) => `${path}: may not import ${file}, because what pages share is beside them`);
  return [...foreign, ...pages];
}

function isOtherPage(file: string, path: string): boolean {
  const [page, importer] = [PAGES.exec(file)?.[1], PAGES.exec(path)?.[1]];
  return page !== undefined && importer !== undefined && page !== importer;
}

function featureViolations({ path, files }: Source): string[] {
  const feature = featureOf(path);
  if (feature === null) return [];
  const imports = FEATURES[feature];
  if (!imports) return [`${path}: scripts/house/rules.ts does not name the feature "${feature}"`];
  return files
    .filter((file) => !GENERATED.test(file) && !isAllowed(feature, imports, file))
    .map((file) => `${path}: may not import ${file}`);
}

function isAllowed(feature: string, imports: Record<string, string[]>, file: string): boolean {
  const other = featureOf(file);
  if (other === feature) return true;
  if (other === "shared") return feature !== "isolate";
  const named = other === null ? undefined : imports[other];
  return named !== undefined && (named.includes(basename(file)) || PUBLIC.test(basename(file)));
}

function fileViolations({ path, files, packages }: Source): string[] {
  const rules =
    featureOf(path) === null ? [] : FILES.filter(({ file }) => file.test(basename(path)));
  const names = [...packages, ...files.map((file) => basename(file))];
  return rules.flatMap(({ forbids, because }) =>
    names
      .filter((name) => forbids.test(name))
      .map((name) => `${path}: may not import ${name}, because ${because}`),
  );
}
