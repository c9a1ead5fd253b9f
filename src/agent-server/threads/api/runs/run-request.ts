import type { WireConfig } from "../../../../isolate/contract.ts";
import { isRecord } from "../../../../shared/guards.ts";
import type { RunAssistant } from "../../contract/assistant-ids.ts";
import type {
  NewThread,
  Principal,
  RevisionRef,
  RunKwargs,
  RunRequest,
} from "../../contract/records.ts";
import type { RunCreate } from "../../contract/requests/run-schema.ts";
import { resumedInterrupts } from "../../contract/resumed-interrupts.ts";
import type { KeyedRun } from "./idempotency.ts";
import { tracingFields } from "./tracing-headers.ts";

/** Fields that come from lookups and from the HTTP request. */
type RunContext = {
  assistant: RunAssistant;
  revision: RevisionRef;
  created_by: Principal;
  headers: Record<string, string>;
  run_id: string;
  create_thread: NewThread | null;
  temporary: boolean;
  protocol?: "v2" | undefined;
  /** Ids of the interrupts that the run resumes. `"input"`: the run's input resumes any pending interrupt. */
  answers?: string[] | "input" | undefined;
  after_run_id?: string | undefined;
  /** Ids by idempotency key, of a request that has one. */
  keyed?: KeyedRun | null;
};

/** Returns the call that creates the run, with the default of every absent field. */
export function toRunRequest(input: RunCreate, context: RunContext): RunRequest {
  const { assistant_id, graph_id, config, metadata } = context.assistant;
  const answers = context.answers ?? answersOf(input);
  return {
    run_id: context.run_id,
    assistant_id,
    graph_id,
    assistant: { config, metadata },
    revision: context.revision,
    created_by: context.created_by,
    metadata: input.metadata ?? {},
    kwargs: toKwargs(input, context),
    multitask_strategy: input.multitask_strategy,
    after_seconds: input.after_seconds ?? 0,
    create_thread: context.create_thread,
    ...(answers && { answers }),
    ...(context.after_run_id && { after_run_id: context.after_run_id }),
    ...(context.keyed && { keyed: toKeyed(context.keyed) }),
  };
}

/**
 * Returns the ids of the interrupts that must be pending for the run. `null` when the command names none, and for a run
 * from a named checkpoint: it forks the thread there, so the thread's pending interrupts do not matter.
 */
function answersOf({ command, checkpoint_id, checkpoint, config }: RunCreate): string[] | null {
  const named = checkpoint_id || checkpoint?.checkpoint_id || config?.configurable?.checkpoint_id;
  return named ? null : resumedInterrupts(command);
}

/**
 * The id of a run derives from the idempotency key and the UTC day. A repetition may have today's, which is the `run_id` of
 * the request, that of the day before, or, when this request has waited since the day before, that of the next one.
 */
function toKeyed({ run_ids: [, earlier_id, later_id], request_sha256 }: KeyedRun) {
  return { earlier_id, later_id, request_sha256 };
}

function toKwargs(input: RunCreate, context: RunContext): RunKwargs {
  const { headers, temporary, assistant, protocol } = context;
  const { input: value = null, stream_mode, checkpoint_during } = input;
  return {
    input: value,
    command: input.command ?? null,
    config: toConfig(input, headers),
    context: toContext(assistant.context, input.context),
    stream_mode,
    subgraphs: input.stream_subgraphs === true,
    resumable: input.stream_resumable === true,
    ...toInterrupts(input),
    durability: input.durability ?? (checkpoint_during === false ? "exit" : "async"),
    strict_resume: input.strict_resume === true,
    ...(protocol && { protocol }),
    webhook: input.webhook ?? null,
    feedback_keys: input.feedback_keys ?? null,
    temporary,
  };
}

/**
 * Merges the run's context over the assistant's, key by key when both are objects. `null`, for neither of them, lets
 * the graph use its default.
 */
function toContext(own: unknown, given: unknown): unknown {
  if (!isRecord(own)) return given ?? own ?? null;
  if (Object.keys(own).length === 0) return given ?? null;
  return isRecord(given) ? { ...own, ...given } : (given ?? own);
}

function toInterrupts({ interrupt_before, interrupt_after }: RunCreate) {
  return {
    interrupt_before: interrupt_before ?? null,
    interrupt_after: interrupt_after ?? null,
  };
}

function toConfig(input: RunCreate, headers: Record<string, string>): WireConfig {
  const { checkpoint_id, checkpoint_ns, checkpoint_map } = input.checkpoint ?? {};
  const id = input.checkpoint_id || checkpoint_id;
  // Later entries replace earlier ones.
  const configurable = {
    ...headers,
    ...tracingFields(headers),
    ...input.config?.configurable,
    ...toTracer(input),
    ...(id && { checkpoint_id: id }),
    ...(checkpoint_ns && { checkpoint_ns }),
    ...(checkpoint_map && { checkpoint_map }),
  };
  return { ...input.config, configurable };
}

function toTracer({ langsmith_tracer }: RunCreate) {
  const { project_name, example_id } = langsmith_tracer ?? {};
  return {
    ...(project_name && { langsmith_project: project_name }),
    ...(example_id && { langsmith_example_id: example_id }),
  };
}
