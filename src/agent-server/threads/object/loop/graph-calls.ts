import { areIsolatesRemote } from "../../../../control-plane/deployments/isolate/isolate.ts";
import type { GraphCall, RunCall, WireConfig } from "../../../../isolate/contract.ts";
import type { AgentUser } from "../../../../shared/context.ts";
import { sha256Hex } from "../../../../shared/crypto/crypto.ts";
import type { ThreadRecord } from "../../contract/records.ts";
import type { StoredRun } from "../../contract/stored-run.ts";
import { MAX_VALUE_BYTES } from "../boundary/limits.ts";
import type { ThreadStore } from "../storage/store.ts";
import { beginTrace, toTrace } from "../storage/trace-roots.ts";

const USER_KEY_PREFIX = "langgraph_auth_";

/**
 * Deletes the answers to interrupts that lost attempts of the run have stored, unless the run has a checkpoint of the
 * root graph. The next attempt answers again: a task would otherwise take a stored answer for its next interrupt.
 */
export function withdrawAnswers(run: StoredRun, store: ThreadStore) {
  const isAgain = run.attempt > 1 && isAnswer(run) && !isResuming(run, store);
  if (isAgain) store.checkpoints.deleteAnswersOf(run.run_id);
}

export function toRunCall(run: StoredRun, store: ThreadStore): RunCall {
  const { kwargs, run_id, thread_id, graph_id } = run;
  const resuming = isResuming(run, store);
  return {
    run_id,
    thread_id,
    graph_id,
    resuming,
    ...(resuming && emittedBefore(run, store)),
    input: kwargs.input,
    command: kwargs.command,
    strict_resume: kwargs.strict_resume === true,
    config: withUser(withAttempt(kwargs.config, run.attempt, resuming), run.created_by.user),
    context: kwargs.context,
    stream_modes: kwargs.stream_mode,
    stream_subgraphs: kwargs.subgraphs,
    short_forms: kwargs.protocol === "v2",
    interrupt_before: kwargs.interrupt_before,
    interrupt_after: kwargs.interrupt_after,
    durability: kwargs.durability,
    head: store.checkpoints.read("", null),
    ...stateLimit(),
    trace: toTrace(run, store.traces.getOpen(run_id) ?? beginTrace(run, run.created_at)),
  };
}

/** Whether the attempt continues from the run's last checkpoint, without the input or command. */
function isResuming(run: StoredRun, { checkpoints }: ThreadStore): boolean {
  // With durability `exit` the checkpoints of a subgraph may be stored before that of the input.
  const isExit = run.kwargs.durability === "exit";
  // Subgraphs may be past the interrupt while other tasks of the root still need the answer.
  const ns = isExit || isAnswer(run) ? "" : null;
  return run.attempt > 1 && checkpoints.hasAnyOf(run.run_id, ns);
}

function isAnswer({ kwargs: { command } }: StoredRun): boolean {
  return command?.resume !== undefined && command.resume !== null;
}

/** No values have this digest, so the isolate emits the first ones. */
const NONE_EMITTED = "";

function emittedBefore({ run_id, kwargs }: StoredRun, { events }: ThreadStore) {
  if (!kwargs.stream_mode.includes("values")) return {};
  const values = events.newestNamed(run_id, "values");
  if (values === undefined) return {};
  return { emitted_values_sha256: values === null ? NONE_EMITTED : sha256Hex(values) };
}

function withAttempt(
  config: RunCall["config"],
  run_attempt: number,
  resuming: boolean,
): RunCall["config"] {
  // A run that resumes from its own checkpoint must not fork from the requested one again.
  const { checkpoint_id, ...configurable } = config.configurable ?? {};
  const { checkpoint_ns: _, checkpoint_map: __, ...own } = configurable;
  const requested = checkpoint_id ? { ...configurable, checkpoint_id } : configurable;
  return {
    ...config,
    configurable: resuming ? own : requested,
    metadata: { ...config.metadata, run_attempt },
  };
}

export function toGraphCall(
  thread: Pick<ThreadRecord, "thread_id" | "metadata" | "config">,
): GraphCall | null {
  const { graph_id } = thread.metadata;
  if (typeof graph_id !== "string") return null;
  const config = withUser(thread.config, undefined);
  const { thread_id } = thread;
  return { graph_id, thread_id, config, context: null, ...stateLimit() };
}

/** The processes of agents on one machine have more memory than an isolate at Cloudflare. */
function stateLimit(): Pick<GraphCall, "max_state_bytes"> {
  return areIsolatesRemote() ? { max_state_bytes: MAX_VALUE_BYTES } : {};
}

/** Sets the keys from which graphs read the user. Drops keys with their prefix that a client has sent. */
function withUser(config: WireConfig, user: AgentUser | undefined): WireConfig {
  const own = Object.entries(config.configurable ?? {}).filter(
    ([key]) => !key.startsWith(USER_KEY_PREFIX),
  );
  const userFields = user && {
    langgraph_auth_user: user,
    langgraph_auth_user_id: user.identity,
    langgraph_auth_permissions: user.permissions,
  };
  return { ...config, configurable: { ...Object.fromEntries(own), ...userFields } };
}
