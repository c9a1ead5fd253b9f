import { eq } from "drizzle-orm";
import { TCP_BINDING } from "../../../isolate/contract.ts";
import { database } from "../../../shared/context.ts";
import { decodeBytes } from "../../../shared/crypto/encoding.ts";
import type { Artifact } from "../../builds/contract.ts";
import type { TailProps } from "../logs/tail-lines.ts";
import { LINE_MARK } from "../logs/tail-lines.ts";
import { readSecrets } from "../secrets.ts";
import { revisions } from "../table.ts";
import { agentEgress, agentServer, agentTail, type ServerProps } from "./callbacks.ts";

export type RevisionKey = { deployment_id: string; revision_id: string };
export type RevisionCode = { artifact: Artifact; env: Record<string, string> };

/** Limit of a call. A run is one call however long it waits for models. */
const CPU_LIMIT_MS = 120_000;

export type IsolateRef = RevisionKey & {
  secrets_version: number;
  /** Selects a separate isolate for a run that has lost its isolate before. */
  quarantine?: string;
};

/** Counts failed loads by name: the loader caches a failure under its name. */
const givenUp = new Map<string, number>();
const loaded = new Set<string>();

/** The per-call parts of an isolate's props, as plain data: they may cross a process boundary. */
type CallProps = {
  /** The agent server for clients in the agent's code that have no URL. */
  server: ServerProps;
  /** The routes behind the agent's HTTP app. */
  builtin?: ServerProps;
  user?: unknown;
};

/** Plain data that identifies and calls an isolate in any process. */
export type IsolateCall = { ref: IsolateRef; props: CallProps };

type OpenIsolate = (env: Env, call: IsolateCall) => Fetcher;

/** Set only by the local stack, which runs isolates in other processes. */
let openElsewhere: OpenIsolate | null = null;

export function runIsolatesElsewhere(open: OpenIsolate | null): void {
  openElsewhere = open;
}

/** Props of the agent server for SDK clients without a URL in the agent's code. */
function serverOf({ deployment_id }: IsolateRef): ServerProps {
  const base_url = `https://agent.internal/agents/${deployment_id}`;
  return { base_url, internal: { kind: "client", deployment_id, ref: deployment_id, depth: 0 } };
}

/** Returns the entrypoint of a revision's isolate. The first call loads it. */
export function agentIsolate(env: Env, ref: IsolateRef, given: Partial<CallProps> = {}): Fetcher {
  const call = { ref: toRef(ref), props: { server: serverOf(ref), ...given } };
  if (openElsewhere) return openElsewhere(env, call);
  return openIsolate(env.LOADER, call, () => readRevisionCode(env, ref));
}

/** Loads the isolate into this process. The entrypoints it is bound to are this script's own. */
export function openIsolate(
  loader: Env["LOADER"],
  { ref, props }: IsolateCall,
  readCode: () => Promise<RevisionCode>,
): Fetcher {
  const name = nameOf(ref);
  const worker = loader.get(name, async () => {
    const code = await readCode();
    const egress = agentEgress({ deployment_id: ref.deployment_id });
    if (ref.quarantine === undefined) loaded.add(name);
    return {
      compatibilityDate: code.artifact.compatibility_date,
      mainModule: code.artifact.main_module,
      modules: toModules(code.artifact.modules),
      env: { ...code.env, [TCP_BINDING]: egress },
      globalOutbound: egress,
      tails: [agentTail(toTailProps(ref))],
      limits: { cpuMs: CPU_LIMIT_MS },
    };
  });
  const lines = agentTail(toTailProps(ref));
  const server = agentServer(props.server);
  const builtin = props.builtin && { builtin: agentServer(props.builtin) };
  return worker.getEntrypoint("Agent", {
    props: { line_mark: LINE_MARK, lines, ...props, server, ...builtin },
  });
}

function toModules(modules: Artifact["modules"]): WorkerLoaderWorkerCode["modules"] {
  const decode = (base64: string) => Uint8Array.from(decodeBytes(base64, "base64")).buffer;
  return Object.fromEntries(
    Object.entries(modules).map(([name, module]) => {
      if (typeof module === "string" || "text" in module) return [name, module];
      if ("wasm" in module) return [name, { wasm: decode(module.wasm) }];
      return [name, { data: decode(module.data) }];
    }),
  );
}

/** Drops other columns: callers pass whole rows. */
function toRef({ deployment_id, revision_id, secrets_version, quarantine }: IsolateRef) {
  const ref = { deployment_id, revision_id, secrets_version };
  return quarantine === undefined ? ref : { ...ref, quarantine };
}

/** Gives the next call a new name when the isolate never came up. */
export function giveUpUnloaded(ref: IsolateRef): void {
  // The name of a quarantine is used for one attempt.
  if (ref.quarantine !== undefined || loaded.has(nameOf(ref))) return;
  const key = keyOf(ref);
  givenUp.set(key, (givenUp.get(key) ?? 0) + 1);
}

function nameOf(ref: IsolateRef): string {
  const key = keyOf(ref);
  const times = givenUp.get(key);
  return times === undefined ? key : `${key}:${times}`;
}

function keyOf({ revision_id, secrets_version, quarantine }: IsolateRef): string {
  const key = `${revision_id}:${secrets_version}`;
  return quarantine === undefined ? key : `${key}:quarantine:${quarantine}`;
}

function toTailProps({ deployment_id, revision_id }: RevisionKey): TailProps {
  return { deployment_id, revision_id };
}

type Configured = { deployment_id: string; config_env: Record<string, string> | null };

/** The environment of the agent's code. Secrets override the `env` of langgraph.json. */
export async function readVariables(
  env: Env,
  { deployment_id, config_env }: Configured,
): Promise<Record<string, string>> {
  return { ...config_env, ...(await readSecrets(env, deployment_id)) };
}

export async function readRevisionCode(env: Env, ref: RevisionKey): Promise<RevisionCode> {
  const [row] = await database(env)
    .select()
    .from(revisions)
    .where(eq(revisions.id, ref.revision_id));
  if (row?.deployment_id !== ref.deployment_id) {
    throw new Error(`Revision ${ref.revision_id} of deployment ${ref.deployment_id} is gone`);
  }
  if (row.artifact_key === null) {
    throw new Error(`Revision ${ref.revision_id} has no artifact: it is ${row.status}`);
  }
  const [object, variables] = await Promise.all([
    env.ARTIFACTS.get(row.artifact_key),
    readVariables(env, row),
  ]);
  if (object === null) {
    throw new Error(`The artifact of revision ${ref.revision_id} is gone: ${row.artifact_key}`);
  }
  return { artifact: await object.json<Artifact>(), env: variables };
}
