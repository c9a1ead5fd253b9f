import type { RunnableConfig } from "@langchain/core/runnables";
import type { Engine, RunTools } from "../agent/engine.ts";
import type { Checkpoint } from "../checkpoint-contract.ts";
import { HostSaver } from "../checkpoints/saver.ts";
import { toCheckpoint, toSummary, toThreadState } from "../checkpoints/snapshot.ts";
import { subgraphsOf } from "../checkpoints/subgraphs.ts";
import { UntrackedChannels } from "../checkpoints/untracked-channels.ts";
import type {
  GraphCall,
  GraphDescription,
  GraphSchemas,
  HistoryCall,
  Host,
  RunCall,
  StateCall,
  SubgraphsCall,
  ThreadSummary,
  UpdateCall,
} from "../contract.ts";
import { contextOf } from "../modules/graphs.ts";
import type { Outbox } from "../outbox.ts";
import { langChainTracer } from "../tracing/langchain-tracer.ts";
import { findStopsWithin, stopsBefore } from "./breakpoints.ts";
import { contextOfRun, type Graph, withSaver } from "./langgraph.ts";
import { toOptions, toStateConfig } from "./langgraph-config.ts";
import { storeFor, storeOfRun } from "./langgraph-store.ts";
import { EMITS_INTERRUPTS } from "./library.ts";
import { Reading } from "./reading.ts";
import { waitingNodesCheck, withoutRemovedChannels } from "./removed-parts.ts";
import { answeredAgain, assertAnswersWaited, inputOf, isFirstAttempt } from "./resume.ts";
import { describeSchemas } from "./schemas.ts";
import { leniently, readHistory, readState, updateState } from "./state.ts";
import { EventWriter, type LangChainEvent } from "./stream-events.ts";

/** `[mode, chunk]`, or `[namespace, mode, chunk]` with subgraphs. LangGraph may append internal items. */
type StreamChunk = unknown[];

export class LangGraphEngine implements Engine {
  readonly #graphId: string;
  readonly #graph: Graph;
  readonly #description: string | null;
  readonly #untracked: UntrackedChannels;

  constructor(graph_id: string, graph: Graph, description: string | null) {
    this.#graphId = graph_id;
    this.#graph = graph;
    this.#description = description;
    this.#untracked = new UntrackedChannels(graph);
  }

  async describe(): Promise<GraphDescription> {
    const drawable = await this.#graph.getGraphAsync({});
    return {
      graph_id: this.#graphId,
      kind: "graph",
      description: this.#description,
      nodes: Object.keys(drawable.nodes),
      schemas: describeSchemas(this.#graph, contextOf(this.#graphId)),
    };
  }

  async draw(xray: boolean | number): Promise<unknown> {
    const config: RunnableConfig & { xray: boolean | number } = { xray };
    return (await this.#graph.getGraphAsync(config)).toJSON();
  }

  async subgraphs({ namespace, recurse }: SubgraphsCall): Promise<Record<string, GraphSchemas>> {
    const found = [...subgraphsOf(this.#graph, recurse)].filter(
      ([path]) => namespace === null || path === namespace,
    );
    return Object.fromEntries(found.map(([path, graph]) => [path, describeSchemas(graph)]));
  }

  async run(call: RunCall, { host, outbox, signal, tracer, onSummary }: RunTools): Promise<void> {
    const { thread_id, run_id } = call;
    const reading = new Reading();
    const checkWaiting = waitingNodesCheck(this.#graph, call);
    const saver = new HostSaver({
      host,
      outbox,
      thread_id,
      head: call.head,
      metadata: checkpointMetadata(call),
      sync: call.durability === "sync",
      max_state_bytes: call.max_state_bytes,
      answer_again: answeredAgain(call),
      adapt: (checkpoint, ns) => withoutRemovedChannels(this.#graph, checkpoint, ns),
      check_subgraph: checkWaiting,
      lost_run: isFirstAttempt(call) ? null : { run_id, stops: findStopsWithin(this.#graph) },
    });
    checkWaiting(call.head);
    const interrupt_before = await stopsBefore(this.#graph, call, host);
    // The saver has the head too. Without this reference, memory is freed as soon as the saver drops it.
    call.head = null;
    const graph = withSaver(this.#graph, saver, storeOfRun(host, reading, outbox));
    onSummary(() => this.#summaryOf(graph, call));
    if (call.strict_resume) await assertAnswersWaited(graph, call);
    const emit = (event: string, data: string) => outbox.push({ op: "event", event, data });
    const events = new EventWriter(call, emit, this.#untracked);
    const chunks = streamOf(graph, await inputOf(call, saver), events, {
      ...toOptions({ ...call, interrupt_before }, await contextOfRun(graph, call.context)),
      // Makes LangGraph emit the short form of each checkpoint. "v3" would change messages too.
      ...(call.short_forms && { version: "v2" }),
      streamMode: events.graphModes,
      subgraphs: call.stream_subgraphs,
      runId: run_id,
      signal,
      ...(tracer && { callbacks: [langChainTracer(tracer)] }),
    });
    for await (const chunk of reading.of(chunks)) {
      events.write(...toParts(chunk, call.stream_subgraphs));
      if (outbox.isBehind) await outbox.flush();
    }
    const summary = EMITS_INTERRUPTS && !saver.hasInterrupted ? events.summary : null;
    if (summary) onSummary(async () => summary);
  }

  async summarize(call: GraphCall, host: Host): Promise<ThreadSummary> {
    // Omits the checkpoint and the namespace, which `call` may have: the summary is of the newest state.
    const { thread_id, config } = call;
    const graph = withSaver(this.#graph, new HostSaver({ host, thread_id }), storeFor(host));
    return this.#summaryOf(graph, { thread_id, config });
  }

  async #summaryOf(
    graph: Graph,
    thread: Pick<GraphCall, "thread_id" | "config">,
  ): Promise<ThreadSummary> {
    const snapshot = await readState(graph, toStateConfig(thread));
    return toSummary(snapshot, (values) => this.#untracked.omitFrom(values));
  }

  async getState(call: StateCall, host: Host): Promise<string> {
    const graph = withSaver(
      this.#graph,
      new HostSaver({ host, thread_id: call.thread_id }),
      storeFor(host),
    );
    const snapshot = await readState(graph, toStateConfig(call), call.subgraphs);
    return this.#untracked.toWire(toThreadState(snapshot));
  }

  async getHistory(call: HistoryCall, host: Host): Promise<string> {
    const saver = new HostSaver({ host, thread_id: call.thread_id });
    const graph = withSaver(this.#graph, saver, storeFor(host));
    return leniently(graph, (readable) => readHistory(readable, call, this.#untracked.toWire));
  }

  async updateState(call: UpdateCall, host: Host, outbox: Outbox): Promise<Checkpoint> {
    const { thread_id, max_state_bytes } = call;
    const metadata = checkpointMetadata(call);
    const saver = new HostSaver({ host, outbox, thread_id, metadata, max_state_bytes });
    const graph = withSaver(this.#graph, saver, storeFor(host));
    const config = await updateState(graph, call);
    return toCheckpoint({ ...config.configurable, thread_id });
  }
}

type Parts = [ns: string[], mode: string, chunk: unknown];

function toParts(chunk: StreamChunk, hasNamespace: boolean): Parts {
  if (!hasNamespace) return [[], ...chunk] as unknown as Parts;
  const [ns, mode, data] = chunk as Parts;
  // Before 0.3.0 the namespace of the root is [""].
  return [ns.filter((part) => part !== ""), mode, data];
}

type StreamOptions = NonNullable<Parameters<Graph["stream"]>[1]> & { runId: string };

/** Yields the chunks of the graph. Writes LangChain's events when a client requests them. */
async function* streamOf(
  graph: Graph,
  input: unknown,
  events: EventWriter,
  options: StreamOptions,
): AsyncGenerator<StreamChunk> {
  if (!events.wantsEvents) {
    yield* (await graph.stream(input, options)) as AsyncIterable<StreamChunk>;
    return;
  }
  const all = graph.streamEvents(input as Record<string, unknown>, { ...options, version: "v2" });
  for await (const event of all as AsyncIterable<LangChainEvent>) {
    const isOwn = event.event === "on_chain_stream" && event.run_id === options.runId;
    if (isOwn) yield event.data.chunk as StreamChunk;
    else events.writeEvent(event);
  }
}

/** Keys of the configurable that checkpoints do not show in their metadata. */
const UNSHOWN = new Set([
  "checkpoint_ns",
  "checkpoint_id",
  "checkpoint_map",
  "run_id",
  "thread_id",
  "langgraph_auth_user",
  "langgraph_auth_permissions",
]);

/**
 * Returns the metadata of each checkpoint: the visible configurable, the run's metadata and ids.
 */
function checkpointMetadata(call: GraphCall & { run_id?: string }): Record<string, unknown> {
  const shown = Object.entries(call.config.configurable ?? {}).filter(
    ([key]) => !key.startsWith("__") && !UNSHOWN.has(key),
  );
  return {
    ...Object.fromEntries(shown),
    ...call.config.metadata,
    ...(call.run_id !== undefined && { run_id: call.run_id }),
    thread_id: call.thread_id,
  };
}
