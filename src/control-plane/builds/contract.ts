import type { EgressPolicy } from "../../shared/egress/egress.ts";
import type { Integrity } from "./integrity.ts";

/** Messages between the main Worker and the builder script over the BUILDER binding. */

export type BuildSource =
  | { kind: "git"; repo_url: string; repo_ref: string; token: string | null }
  | { kind: "tarball"; object_key: string };

export type BuildOrder = EgressPolicy & {
  deployment_id: string;
  revision_id: string;
  source: BuildSource;
  /** Path of langgraph.json inside the tree. */
  config_path: string;
  registry_url: string;
};

export type BuildLine = {
  level: "DEBUG" | "INFO" | "WARNING" | "ERROR";
  message: string;
  /** ISO text, UTC. */
  timestamp: string;
};

/** Maximum length of `repo_commit_message`, the first line of a commit's message. */
export const COMMIT_CHARACTERS = 200;

export type SourceCommit = {
  repo_commit_sha: string;
  repo_commit_message: string | null;
  /** ISO text, UTC. */
  repo_commit_authored_at: string | null;
};

export type BuildProgress = {
  /** Steps that have begun since the last call. */
  steps: { name: "install" | "bundle"; started_at: string }[];
  commit: SourceCommit | null;
};

/** An RpcTarget of the main Worker. A call also renews the lease of the attempt, and rejects when the lease is lost. */
export interface BuildSink {
  log(lines: BuildLine[], progress: BuildProgress): Promise<void>;
}

export type ArtifactKind = "artifact" | "ui" | "map";

/** Tarballs of packages by their hash. An RpcTarget of the builder script, outside of the build's isolate. */
export interface PackageStore {
  /** @returns `null` when no tarball with the hash is stored */
  readTarball(integrity: Integrity): Promise<ReadableStream<Uint8Array> | null>;
  /** Rejects when the bytes do not have the hash. Stores nothing for a SHA-1, or for a tarball that is too large. */
  writeTarball(
    integrity: Integrity,
    bytes: number,
    body: ReadableStream<Uint8Array>,
  ): Promise<void>;
}

/** Storage of a build: the isolate reads and writes nothing else in R2. */
export interface BuildStore extends PackageStore {
  /** @returns the uploaded tarball of the revision, or null without one. */
  readSource(): Promise<ReadableStream<Uint8Array> | null>;
  /**
   * @returns a `PrebuiltUnit` as gzipped JSON, or `null` without one. The outcome lists a version without a unit in
   * `lacking`, unless Heddle never prebuilds that version.
   */
  readPrebuilt(name: string, version: string): Promise<ReadableStream<Uint8Array> | null>;
  /** Returns the versions, by package, whose units are part of the builder script. The newest is first. */
  listPrebuilt(): Promise<Record<string, string[]>>;
  /** @returns the versions that an earlier build of the deployment chose for inputs with this hash, or `null` */
  readResolution(hash: string): Promise<ReadableStream<Uint8Array> | null>;
  /** Keeps an earlier record of the same hash. */
  writeResolution(hash: string, json: string): Promise<void>;
  writeArtifact(kind: ArtifactKind, bytes: number, body: ReadableStream<Uint8Array>): Promise<void>;
}

/** The entrypoint `Build` of the isolate that the builder loads for each build. */
export interface BuildIsolate {
  /** Starts the bundler before there is an order. */
  prepare(): Promise<void>;
  build(order: BuildOrder, sink: BuildSink, storage: BuildStore): Promise<BuildOutcome>;
}

export type PackageVersion = { name: string; version: string };
/** Versions to prebuild, one after the other. */
export type PrebuildMessage = { type: "prebuild"; versions: PackageVersion[] };
export type PrebuildOrder = EgressPolicy & PackageVersion & { registry_url: string };

/** The entrypoint `Prebuild` of the same isolate. */
export interface PrebuildIsolate {
  /** @returns a `PrebuiltUnit` as gzipped JSON. */
  prebuild(order: PrebuildOrder, storage: PackageStore): Promise<Uint8Array>;
}

export type BuildFailureReason =
  | "source_not_found"
  | "source_unauthorized"
  | "source_unavailable"
  | "source_too_large"
  | "source_unsafe"
  | "ref_not_found"
  | "config_not_found"
  | "config_invalid"
  | "graph_not_found"
  | "unsupported_language"
  | "dependency_unresolved"
  | "dependency_integrity"
  | "bundle_failed"
  | "graph_load_failed"
  | "timed_out"
  | "internal";

/** An export of a file of the source, such as a graph. */
export type NamedExport = { path: string; export_name: string };

export type StoreConfig = {
  index: (NamedExport & { dims: number; fields: string[] }) | null;
  ttl: { default_ms: number | null; refresh_on_read: boolean };
};

export type UiConfig = {
  /** The file of each agent's components, relative to the root of the source. */
  entries: Record<string, string>;
  /** Packages that the page has, beside React and the SDK. */
  shared: string[];
};

/** Files of an agent by name: `entrypoint.js` and, with styles, `entrypoint.css`. */
export type UiFiles = Record<string, string>;
export type UiBundles = Record<string, UiFiles>;

/** Returns the key of the artifact that the build of a revision stores. Copies of the revision use it too. */
export function artifactKeyOf(revision_id: string): string {
  return `artifacts/${revision_id}.json`;
}

/** Returns the key of the `UiBundles` beside an artifact. Only revisions with components have this object. */
export function uiKeyOf(artifact_key: string): string {
  return artifact_key.replace(/\.json$/, ".ui.json");
}

/** Returns the key of the `SourceMap` beside an artifact. It is read only to map the stack of a failure. */
export function mapKeyOf(artifact_key: string): string {
  return artifact_key.replace(/\.json$/, ".map.json");
}

/** Returns the key prefix of a deployment's resolutions: the versions that its builds chose without a lockfile. */
export function resolutionPrefix(deployment_id: string): string {
  return `resolutions/${deployment_id}/`;
}

export function objectKeysOf(artifact_key: string): string[] {
  return [artifact_key, uiKeyOf(artifact_key), mapKeyOf(artifact_key)];
}

/** The parts of langgraph.json that a build uses. `raw` is the whole file, which the revision's row stores. */
export type AgentConfig = {
  /** Folder of langgraph.json, which is the agent's working directory: empty for the root of the source. */
  folder: string;
  graphs: Record<string, { path: string; export_name: string; description: string | null }>;
  env: Record<string, string>;
  store: StoreConfig;
  /** The `auth.path` of langgraph.json: an `Auth` of @langchain/langgraph-sdk/auth. */
  auth: NamedExport | null;
  /** The `http.app` of langgraph.json: a Hono app. */
  app: NamedExport | null;
  ui: UiConfig;
  raw: Record<string, unknown>;
};

export type BuildOutcome =
  | {
      ok: true;
      /** R2 key of an `Artifact` as JSON. */
      artifact_key: string;
      artifact_bytes: number;
      repo_commit_sha: string | null;
      config: AgentConfig;
      /** Versions without a `PrebuiltUnit`. The consumer requests these units after the build. */
      lacking: PackageVersion[];
    }
  | {
      ok: false;
      reason: BuildFailureReason;
      message: string;
      /** The platform failed, for example R2: another attempt may succeed. */
      is_transient?: boolean;
    };

/** An ES module, a text, bytes in base64, or a WebAssembly module in base64. */
export type ArtifactModule = string | { text: string } | { data: string } | { wasm: string };

/**
 * Version of the contract between an artifact and the Worker: the types of `src/isolate/*contract.ts`. In version 1,
 * pending writes lack the path of their task. CONTRIBUTING explains when a change needs a new version.
 */
export const CONTRACT = 2;

/** Code of a revision for `LOADER.get`, without secrets; self-contained and immutable. */
export type Artifact = {
  /** Contract version of the harness in the artifact, 1 if absent. */
  contract?: number;
  compatibility_date: string;
  main_module: string;
  modules: Record<string, ArtifactModule>;
};
