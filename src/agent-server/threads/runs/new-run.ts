import { v7 } from "uuid";
import type { WireConfig } from "../../../isolate/contract.ts";
import { isRecord } from "../../../shared/guards.ts";
import type { HttpSettings } from "../../access/service.ts";
import type { RunAssistant } from "../assistants.ts";
import type { NewRun, NewThread, Principal, RevisionRef, RunKwargs } from "../records.ts";
import type { RunCreate } from "./run-schema.ts";

type Headers = Record<string, string>;

/** Request headers that graphs may read from `configurable`, as `http.configurable_headers` has it; keys and tenants stay outside. */
export function configurableHeaders(
  headers: Headers,
  { configurable_headers }: Pick<HttpSettings, "configurable_headers">,
): Headers {
  const includes = configurable_headers?.includes ?? ["x-*", "user-agent"];
  const excludes = configurable_headers?.excludes ?? [];
  const shown = Object.entries(headers).filter(
    ([name]) => isAmong(includes, name) && !isAmong(excludes, name) && !HIDDEN_HEADERS.has(name),
  );
  return Object.fromEntries(shown);
}

/** A star at the end of a name stands for any end. */
function isAmong(names: string[], header: string): boolean {
  return names.some((name) => {
    const wanted = name.toLowerCase();
    return wanted.endsWith("*") ? header.startsWith(wanted.slice(0, -1)) : header === wanted;
  });
}

const HIDDEN_HEADERS = new Set([
  "authorization",
  "cookie",
  "x-api-key",
  "x-auth-scheme",
  "x-service-key",
  "x-tenant-id",
]);

type Place = {
  assistant: RunAssistant;
  revision: RevisionRef;
  created_by: Principal;
  headers: Record<string, string>;
  run_id: string;
  create_thread: NewThread | null;
  temporary: boolean;
  /** Asked for by a command of the v2 protocol. */
  protocol?: "v2";
};

/** A request body as an order to a thread, with every default filled in. */
export function toNewRun(input: RunCreate, place: Place): NewRun {
  const { assistant_id, graph_id, config, metadata } = place.assistant;
  return {
    run_id: place.run_id,
    assistant_id,
    graph_id,
    assistant: { config, metadata },
    revision: place.revision,
    created_by: place.created_by,
    metadata: input.metadata ?? {},
    kwargs: toKwargs(input, place),
    multitask_strategy: input.multitask_strategy,
    after_seconds: input.after_seconds ?? 0,
    create_thread: place.create_thread,
  };
}

function toKwargs(input: RunCreate, place: Place): RunKwargs {
  const { headers, temporary, assistant, protocol } = place;
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

/** Key by key over the assistant's own; an assistant that has none leaves the graph its default. */
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
  const id = input.checkpoint_id ?? checkpoint_id;
  const configurable = {
    ...headers,
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

export function newRunId(): string {
  return v7();
}
