import { BaseTracer, type Run } from "@langchain/core/tracers/base";
import { LangChainTracer } from "@langchain/core/tracers/tracer_langchain";
import { getRuntimeEnvironment } from "@langchain/core/utils/env";
import { INTERRUPT, interruptsIn, outputsOfThrown, withoutControlFlow } from "./control-flow.ts";
import type { RunTracer } from "./run-tracer.ts";

type Fields = NonNullable<ConstructorParameters<typeof LangChainTracer>[0]>;
type Tree = NonNullable<ReturnType<LangChainTracer["getRunTreeWithTracingConfig"]>>;
type Stored = Omit<Run, "parent_run_id"> & {
  parent_run_id: string | undefined;
  _serialized_start_time: string;
};

/** Returns a tracer for the agent's own LangChain that forwards to the run's tracer. */
export function langChainTracer(tracer: RunTracer): LangChainTracer {
  return new AgentTracer(tracer);
}

/**
 * Keeps a record of each open run, and makes a tree only when a node's code may need one. LangChain's own tracer makes
 * a tree of the parent with all its children at each start and end, which costs time quadratic in the steps of a run.
 */
class AgentTracer extends LangChainTracer {
  readonly #tracer: RunTracer;
  #trees = new WeakMap<object, Tree>();
  /** Interrupts of the root. Its outputs lack them, because LangGraph ends the root with its values only. */
  #interrupts: unknown[] = [];
  // Runs handlers in order: background handlers may outlive the run.
  override awaitHandlers = true;

  constructor(tracer: RunTracer, fields: Fields = {}) {
    super({ ...fields, client: asClient(tracer) });
    this.#tracer = tracer;
    // Early 0.3 versions of core keep all runs in one map, and read it without a method.
    this.runTreeMap ??= this.runMap as never;
  }

  override getRunById(id?: string): Run | undefined {
    if ("getRunById" in BaseTracer.prototype) return super.getRunById(id);
    return id === undefined ? undefined : this.runMap.get(id);
  }

  /** Applies the tracing config of a graph to all runs below it. */
  override copyWithTracingConfig(config: { metadata?: object; tags?: string[] }): AgentTracer {
    const { tracingMetadata: metadata, tracingTags: tags } = super.copyWithTracingConfig(
      config as Parameters<LangChainTracer["copyWithTracingConfig"]>[0],
    );
    const copy = new AgentTracer(this.#tracer, { ...(metadata && { metadata }), tags });
    copy.runMap = this.runMap;
    copy.runTreeMap = this.runTreeMap;
    copy.#interrupts = this.#interrupts;
    return copy;
  }

  /** Gives each caller a view of one tree: every step of a node requests it, and few use it. */
  override getRunTreeWithTracingConfig(id: string): Tree | undefined {
    const run = this.runTreeMap.get(id);
    if (!run) return undefined;
    const tree = this.#trees.get(run) ?? this.#treeOf(run);
    this.#trees.set(run, tree);
    return Object.assign(Object.create(tree) as Tree, { child_runs: [] });
  }

  /** Returns runs of `traceable` unchanged: they are trees already. */
  #treeOf(run: Tree): Tree {
    return run.createChild === undefined ? (super.getRunTreeWithTracingConfig(run.id) ?? run) : run;
  }

  override _addRunToRunMap(run: Run): Run {
    const parent = this.getRunById(run.parent_run_id);
    if (parent) {
      const { child_execution_order: last } = parent;
      parent.child_execution_order = Math.max(last, run.child_execution_order);
    }
    const time = microseconds(run);
    const part = `${time.replace(/[-:.]/g, "")}${run.id}`;
    const stored: Stored = {
      ...run,
      parent_run_id: parent?.id,
      trace_id: parent?.trace_id ?? run.id,
      dotted_order: parent?.dotted_order ? `${parent.dotted_order}.${part}` : part,
      extra: { ...run.extra, runtime: getRuntimeEnvironment() },
      _serialized_start_time: time,
    };
    // LangChain copies its fields when it needs a tree.
    this.runTreeMap.set(run.id, stored as never);
    return stored as Run;
  }

  override handleChainError(...args: Parameters<LangChainTracer["handleChainError"]>) {
    return this.#endThrown(args[0], args[1]) ?? super.handleChainError(...args);
  }

  override handleToolError(...args: Parameters<LangChainTracer["handleToolError"]>) {
    return this.#endThrown(args[0], args[1]) ?? super.handleToolError(...args);
  }

  /** Ends a run that LangGraph's control flow has left. @returns `null` for an error, and for the root */
  #endThrown(thrown: unknown, id: string): Promise<Run> | null {
    const outputs = outputsOfThrown(thrown);
    // The root has no parent that could handle control flow, so what it throws counts as an error.
    if (outputs === null || this.#tracer.isRoot(id)) return null;
    const parent_run_id = this.getRunById(id)?.parent_run_id;
    if (this.#tracer.isRoot(parent_run_id)) this.#interrupts.push(...interruptsIn(outputs));
    // Ends a tool as a chain too: `handleToolEnd` would take the outputs for the tool's answer.
    return this.handleChainEnd(outputs, id);
  }

  override async onRunCreate(run: Run): Promise<void> {
    if (!run.extra?.lc_defers_inputs) await this.#tracer.createRun(this.#fieldsOf(run));
  }

  override async onRunUpdate(run: Run): Promise<void> {
    if (run.extra?.lc_defers_inputs) await this.#tracer.createRun(this.#fieldsOf(run));
    else await this.#tracer.updateRun(run.id, this.#fieldsOf(run));
  }

  #fieldsOf(run: Run): Record<string, unknown> {
    const { _serialized_start_time: start_time } = run as Stored;
    const { id, name, run_type, parent_run_id, trace_id, dotted_order } = run;
    const { inputs, error, events, end_time, serialized } = run;
    const outputs = this.#tracer.isRoot(id) ? this.#outputsOfRoot(run) : run.outputs;
    const metadata = { ...this.tracingMetadata, ...run.extra?.metadata };
    const extra = { ...run.extra, metadata };
    // Earlier versions have no tracing tags.
    const tags = [...new Set([...(run.tags ?? []), ...(this.tracingTags ?? [])])];
    const ids = { id, parent_run_id, trace_id, dotted_order };
    const fields = { name, run_type, serialized, inputs, outputs, error, events, tags, extra };
    return { ...ids, ...fields, start_time, end_time };
  }

  #outputsOfRoot({ outputs, error }: Run): Run["outputs"] {
    const isInterrupted = outputs !== undefined && !error && this.#interrupts.length > 0;
    return isInterrupted ? { ...outputs, [INTERRUPT]: this.#interrupts } : outputs;
  }
}

/** Returns the start time as ISO text. Its last three digits are the execution order, for runs of one millisecond. */
function microseconds({ start_time, execution_order }: Run): string {
  const digits = String(execution_order).slice(0, 3).padStart(3, "0");
  return `${new Date(start_time).toISOString().slice(0, -1)}${digits}Z`;
}

/** Casts to the SDK's client, of which tracers and run trees call only these methods. */
function asClient(tracer: RunTracer): NonNullable<Fields["client"]> {
  const client: Pick<RunTracer, "createRun" | "updateRun" | "awaitPendingTraceBatches" | "flush"> =
    {
      createRun: (run) => tracer.createRun(withoutControlFlow(run)),
      updateRun: (id, run) => tracer.updateRun(id, withoutControlFlow(run)),
      awaitPendingTraceBatches: () => tracer.awaitPendingTraceBatches(),
      flush: () => tracer.flush(),
    };
  return client as unknown as NonNullable<Fields["client"]>;
}
