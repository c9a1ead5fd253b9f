import { LOAD_FAILED, TCP_BINDING } from "../../../isolate/environment-contract.ts";
import { decodeBytes } from "../../../shared/crypto/encoding.ts";
import { type Artifact, CONTRACT } from "../../builds/contract.ts";
import { LINE_MARK, type TailProps } from "../logs/tail-lines.ts";
import { agentEgress, agentServer, agentTail, type ServerProps } from "./callbacks.ts";
import type { CodeKey } from "./code-record.ts";
import { type RevisionCode, readRevisionCode } from "./revision-code.ts";

/** CPU time of a call. A run is one call. Its time of waiting for models does not count. */
const CPU_LIMIT_MS = 120_000;

export type IsolateRef = CodeKey & {
  /** Selects a separate isolate, for a run or a load check whose first isolate was lost. */
  quarantine?: string;
};

/**
 * Abandoned loads by key. The count becomes a part of the isolate's name: the loader caches a failed load under its
 * name.
 */
const abandonedLoads = new Map<string, number>();
/** Names of isolates whose code was read. A later failure of theirs is not a failed load. */
const codeDelivered = new Set<string>();

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
let openRemotely: OpenIsolate | null = null;

export function setIsolateOpener(open: OpenIsolate | null): void {
  openRemotely = open;
}

/** Returns whether isolates run in other processes, which outlive this one. */
export function areIsolatesRemote(): boolean {
  return openRemotely !== null;
}

/** Props of the agent server for SDK clients without a URL in the agent's code. */
function serverOf({ deployment_id }: IsolateRef): ServerProps {
  const base_url = `https://agent.internal/agents/${deployment_id}`;
  return { base_url, internal: { kind: "client", deployment_id, ref: deployment_id, depth: 0 } };
}

/** Returns the entrypoint of a revision's isolate. The first call loads it. */
export function agentIsolate(
  env: Env,
  ref: IsolateRef,
  overrides: Partial<CallProps> = {},
): Fetcher {
  const call = { ref: toRef(ref), props: { server: serverOf(ref), ...overrides } };
  if (openRemotely) return openRemotely(env, call);
  return openIsolate(env.LOADER, call, () => readRevisionCode(env, ref));
}

/** Loads the isolate into this process. Binds it to entrypoints of this script. */
export function openIsolate(
  loader: Env["LOADER"],
  { ref, props }: IsolateCall,
  readCode: () => Promise<RevisionCode>,
): Fetcher {
  const name = nameOf(ref);
  const worker = loader.get(name, async () => {
    // An evicted isolate is loaded again, which may fail.
    codeDelivered.delete(name);
    const code = await readCode();
    const egress = agentEgress({ deployment_id: ref.deployment_id });
    if (ref.quarantine === undefined) codeDelivered.add(name);
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

/** Drops other fields, because callers pass whole rows. */
function toRef({ deployment_id, revision_id, secrets_version, quarantine }: IsolateRef) {
  const ref = { deployment_id, revision_id, secrets_version };
  return quarantine === undefined ? ref : { ...ref, quarantine };
}

/** Makes a call of an isolate. When its code was not read, or its modules did not load, the next call uses a new one. */
export async function leavingFailedLoads<T>(ref: IsolateRef, call: () => Promise<T>): Promise<T> {
  const name = nameOf(ref);
  try {
    return await call();
  } catch (error) {
    if (!codeDelivered.has(name) || isFailedLoad(error)) abandon(ref, name);
    throw error;
  }
}

/** Gives an isolate a new name for the next call, unless another call has done so. */
function abandon(ref: IsolateRef, name: string): void {
  // The name of a quarantine is used for one attempt.
  if (ref.quarantine !== undefined || name !== nameOf(ref)) return;
  const key = keyOf(ref);
  abandonedLoads.set(key, (abandonedLoads.get(key) ?? 0) + 1);
}

function isFailedLoad(error: unknown): boolean {
  return error instanceof Error && error.message.includes(LOAD_FAILED);
}

function nameOf(ref: IsolateRef): string {
  const key = keyOf(ref);
  const times = abandonedLoads.get(key);
  return times === undefined ? key : `${key}:${times}`;
}

/** Includes the contract: a new Worker must not reuse an isolate that an earlier one has adapted. */
function keyOf({ revision_id, secrets_version, quarantine }: IsolateRef): string {
  const key = `${revision_id}:${secrets_version}:${CONTRACT}`;
  return quarantine === undefined ? key : `${key}:quarantine:${quarantine}`;
}

function toTailProps({ deployment_id, revision_id }: CodeKey): TailProps {
  return { deployment_id, revision_id };
}
