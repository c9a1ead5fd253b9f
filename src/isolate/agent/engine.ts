import type { Checkpoint } from "../checkpoint-contract.ts";
import type {
  GraphCall,
  GraphDescription,
  GraphRef,
  GraphSchemas,
  HistoryCall,
  Host,
  RunCall,
  StateCall,
  SubgraphsCall,
  ThreadSummary,
  UpdateCall,
  WireConfig,
} from "../contract.ts";
import type { Outbox } from "../outbox.ts";
import type { RunTracer } from "../tracing/run-tracer.ts";

/** Driver of a graph: LangGraph's, or the one for plain functions. */
export interface Engine {
  describe(): Promise<GraphDescription>;
  /** `{nodes, edges}`. */
  draw(xray: boolean | number): Promise<unknown>;
  subgraphs(call: SubgraphsCall): Promise<Record<string, GraphSchemas>>;
  /** Runs to the end, an interrupt or the abort. All output goes to the outbox. */
  run(call: RunCall, tools: RunTools): Promise<void>;
  summarize(call: GraphCall, host: Host): Promise<ThreadSummary>;
  getState(call: StateCall, host: Host): Promise<string>;
  getHistory(call: HistoryCall, host: Host): Promise<string>;
  updateState(call: UpdateCall, host: Host, outbox: Outbox): Promise<Checkpoint>;
}

export type RunTools = {
  host: Host;
  outbox: Outbox;
  signal: AbortSignal;
  /** `null` when the agent's configuration disables tracing. */
  tracer: RunTracer | null;
  /** Sets the function that reads the thread's summary after the run. The last one that was set is called. */
  onSummary(summarize: () => Promise<ThreadSummary>): void;
};

/** Purpose of opening a graph, in the names that factories of graphs receive. */
type Access = "assistants.read" | "threads.create_run" | "threads.read" | "threads.update";
export type ServerRuntime = {
  accessContext: Access;
  /** `null` outside of runs. */
  executionRuntime: { context: unknown } | null;
};

export type OpenEngine = (
  graph_id: string,
  config: WireConfig,
  runtime: ServerRuntime,
) => Promise<Engine>;

type GraphRequest = Pick<GraphRef, "graph_id"> & Partial<Pick<GraphCall, "config" | "context">>;
export type Open = (call: GraphRequest, accessContext: Access) => Promise<Engine>;

export function opener(openEngine: OpenEngine): Open {
  return ({ graph_id, config = {}, context }, accessContext) => {
    const isRun = accessContext === "threads.create_run";
    return openEngine(graph_id, config, {
      accessContext,
      executionRuntime: isRun ? { context } : null,
    });
  };
}
