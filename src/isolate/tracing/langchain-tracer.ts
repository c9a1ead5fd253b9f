import { BaseTracer, type Run } from "@langchain/core/tracers/base";
import { LangChainTracer } from "@langchain/core/tracers/tracer_langchain";
import { getRuntimeEnvironment } from "@langchain/core/utils/env";
import type { RunTracer } from "./run-tracer.ts";

type Fields = NonNullable<ConstructorParameters<typeof LangChainTracer>[0]>;
type Tree = NonNullable<ReturnType<LangChainTracer["getRunTreeWithTracingConfig"]>>;
type Stored = Omit<Run, "parent_run_id"> & {
  parent_run_id: string | undefined;
  _serialized_start_time: string;
};

/** The tracer of the agent's own LangChain, telling ours. */
export function langChainTracer(tracer: RunTracer): LangChainTracer {
  return new AgentTracer(tracer);
}

/**
 * LangChain's own makes a tree of a run's parent, with all its children, for each start and each end:
 * a quarter of what a run of few steps costs, and the square of its steps. This one keeps a record of
 * each run that is open; a tree is made of it when a node's code may ask for one.
 */
class AgentTracer extends LangChainTracer {
  readonly #tracer: RunTracer;
  #trees = new WeakMap<object, Tree>();
  // In order, and done when the run is: handlers in the background may outlive it.
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

  /** Of a graph: what it says goes for all below. */
  override copyWithTracingConfig(config: { metadata?: object; tags?: string[] }): AgentTracer {
    const { tracingMetadata: metadata, tracingTags: tags } = super.copyWithTracingConfig(
      config as Parameters<LangChainTracer["copyWithTracingConfig"]>[0],
    );
    const copy = new AgentTracer(this.#tracer, { ...(metadata && { metadata }), tags });
    copy.runMap = this.runMap;
    copy.runTreeMap = this.runTreeMap;
    return copy;
  }

  /** Asked for by each step of a node, and seldom used: of one tree each gets a view to write on. */
  override getRunTreeWithTracingConfig(id: string): Tree | undefined {
    const run = this.runTreeMap.get(id);
    if (!run) return undefined;
    const tree = this.#trees.get(run) ?? this.#treeOf(run);
    this.#trees.set(run, tree);
    return Object.assign(Object.create(tree) as Tree, { child_runs: [] });
  }

  /** What `traceable` made is a tree already. */
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
    const place = `${time.replace(/[-:.]/g, "")}${run.id}`;
    const stored: Stored = {
      ...run,
      parent_run_id: parent?.id,
      trace_id: parent?.trace_id ?? run.id,
      dotted_order: parent?.dotted_order ? `${parent.dotted_order}.${place}` : place,
      extra: { ...run.extra, runtime: getRuntimeEnvironment() },
      _serialized_start_time: time,
    };
    // To LangChain it is a tree, of which it copies the fields when it needs one.
    this.runTreeMap.set(run.id, stored as never);
    return stored as Run;
  }

  override async onRunCreate(run: Run): Promise<void> {
    if (!run.extra?.lc_defers_inputs) await this.#tracer.createRun(this.#told(run));
  }

  override async onRunUpdate(run: Run): Promise<void> {
    if (run.extra?.lc_defers_inputs) await this.#tracer.createRun(this.#told(run));
    else await this.#tracer.updateRun(run.id, this.#told(run));
  }

  #told(run: Run): Record<string, unknown> {
    const { _serialized_start_time: start_time } = run as Stored;
    const { id, name, run_type, parent_run_id, trace_id, dotted_order } = run;
    const { inputs, outputs, error, events, end_time, serialized } = run;
    const metadata = { ...this.tracingMetadata, ...run.extra?.metadata };
    const extra = { ...run.extra, metadata };
    // Earlier versions have no tags of their own.
    const tags = [...new Set([...(run.tags ?? []), ...(this.tracingTags ?? [])])];
    const ids = { id, parent_run_id, trace_id, dotted_order };
    const told = { name, run_type, serialized, inputs, outputs, error, events, tags, extra };
    return { ...ids, ...told, start_time, end_time };
  }
}

/** What begins in one millisecond stays in order: the last three digits count. */
function microseconds({ start_time, execution_order }: Run): string {
  const digits = String(execution_order).slice(0, 3).padStart(3, "0");
  return `${new Date(start_time).toISOString().slice(0, -1)}${digits}Z`;
}

/** Of the SDK's client, tracers and run trees call only what RunTracer has. */
function asClient(tracer: RunTracer): NonNullable<Fields["client"]> {
  return tracer as unknown as NonNullable<Fields["client"]>;
}
