import type { Engine, RunTools } from "../agent/engine.ts";
import { rejectOnAbort } from "../agent/run-limit.ts";
import { HostStore } from "../agent/store.ts";
import type { Checkpoint, LoadedCheckpoint } from "../checkpoint-contract.ts";
import { historyText, listCheckpoints } from "../checkpoints/history.ts";
import type {
  GraphCall,
  GraphDescription,
  GraphSchemas,
  HistoryCall,
  Host,
  RunCall,
  StateCall,
  ThreadSummary,
  UpdateCall,
  WireUpdate,
} from "../contract.ts";
import type { Outbox } from "../outbox.ts";
import { toWire } from "../wire.ts";
import { FunctionEvents } from "./function-events.ts";
import {
  applyUpdate,
  type FunctionState,
  isUpdate,
  readState,
  save,
  summaryOf,
  toPlainThreadState,
} from "./function-state.ts";
import { describeBadUpdate, type PlainFunction, updatesOf } from "./plain-function.ts";

/** Names that `as_node` may have beside the graph's id: clients that copy the history of a thread send them. */
const EDGES = ["__start__", "__input__", "__end__"];

/**
 * Drives a plain function or generator, whose yields and return value update the state. Saves the state after the input
 * and at the end only: a generator cannot resume half-way.
 */
export class FunctionEngine implements Engine {
  readonly #graphId: string;
  readonly #run: PlainFunction;
  readonly #description: string | null;

  constructor(graph_id: string, run: PlainFunction, description: string | null) {
    this.#graphId = graph_id;
    this.#run = run;
    this.#description = description;
  }

  async describe(): Promise<GraphDescription> {
    return {
      graph_id: this.#graphId,
      kind: "function",
      description: this.#description,
      nodes: ["__start__", this.#graphId, "__end__"],
      schemas: { input: null, output: null, state: null, config: null, context: null },
    };
  }

  /** Draws one node between start and end. */
  async draw(): Promise<unknown> {
    const name = this.#graphId;
    return {
      nodes: ["__start__", name, "__end__"].map((id) => ({
        id,
        type: "schema",
        data: { title: id },
      })),
      edges: [
        { source: "__start__", target: name },
        { source: name, target: "__end__" },
      ],
    };
  }

  async subgraphs(): Promise<Record<string, GraphSchemas>> {
    return {};
  }

  async run(call: RunCall, tools: RunTools): Promise<void> {
    const { host, outbox, signal, tracer, onSummary } = tools;
    assertInputOnly(call);
    const started = await readStart(call, host);
    // Drops the reference to the checkpoint: `started` has what the run needs of it.
    call.head = null;
    // A run writes the checkpoint with the source `loop` last: if it is stored, the lost attempt had ended.
    const hasEnded = call.resuming && started.metadata.source === "loop";
    // A failed run leaves the values of its last checkpoint: the next run begins with them.
    let saved = started;
    onSummary(async () => summaryOf(saved));
    if (hasEnded) return;
    if (!call.resuming) saved = save(applyUpdate(started, call.input ?? {}), call, outbox, "input");
    let state = saved;
    tracer?.begin(call.input);
    const events = new FunctionEvents(call, outbox);
    events.start(state);
    const applyYield = (update: unknown) => {
      if (!isUpdate(update)) throw new TypeError(describeBadUpdate(call.graph_id, update));
      state = applyUpdate(state, update);
      events.update(update, state);
    };
    const work = Promise.race([
      this.#consumeYields(call, state, tools, applyYield),
      rejectOnAbort(signal),
    ]);
    await work.catch((error: unknown) => {
      if (!signal.aborted) events.fail(error);
      throw error;
    });
    saved = save(state, call, outbox, "loop");
    events.end(saved);
    tracer?.end(saved.values);
  }

  async #consumeYields(
    call: RunCall,
    state: FunctionState,
    { host, outbox, signal }: RunTools,
    applyYield: (update: unknown) => void,
  ) {
    const custom = call.stream_modes.includes("custom");
    const produced = this.#run(call.input, {
      config: { ...call.config, context: call.context },
      signal,
      emit: (data) => {
        if (custom) outbox.push({ op: "event", event: "custom", data: toWire(data) });
      },
      messages: state.messages,
      store: new HostStore(host),
    });
    for await (const update of updatesOf(produced)) {
      if (signal.aborted) return;
      if (update !== undefined && update !== null) applyYield(update);
      if (outbox.isBehind) await outbox.flush();
    }
  }

  async summarize(_call: GraphCall, host: Host): Promise<ThreadSummary> {
    return summaryOf(readState(await host.readCheckpoint("", null)));
  }

  async getState(call: StateCall, host: Host): Promise<string> {
    return toWire(toPlainThreadState(call, await host.readCheckpoint(call.ns, call.checkpoint_id)));
  }

  async getHistory(call: HistoryCall, host: Host): Promise<string> {
    const { ns, limit, checkpoint_id, before_id, metadata } = call;
    const query = {
      ns,
      ...(checkpoint_id && { checkpoint_id }),
      ...(before_id && { before_id }),
      ...(metadata && { metadata }),
    };
    const states = async function* () {
      for await (const loaded of listCheckpoints(host, query, limit)) {
        yield toPlainThreadState(call, loaded);
      }
    };
    return historyText(states());
  }

  async updateState(call: UpdateCall, host: Host, outbox: Outbox): Promise<Checkpoint> {
    const { graph_id } = call;
    assertRootNamespace(graph_id, call.ns);
    for (const update of call.supersteps.flat()) assertValuesOnly(graph_id, update);
    const head = await host.readCheckpoint("", null);
    let state = call.checkpoint_id ? await readAt(host, call.checkpoint_id, head) : readState(head);
    for (const updates of call.supersteps) {
      for (const { values, command } of updates) {
        const update = command?.update ?? values ?? {};
        if (!isUpdate(update)) throw new TypeError("values must be an object");
        state = applyUpdate(state, update);
      }
      state = save(state, call, outbox, "update");
    }
    const { checkpoint_id } = state;
    const { thread_id } = call;
    return {
      thread_id,
      checkpoint_id: checkpoint_id ?? "",
      checkpoint_ns: "",
      checkpoint_map: null,
    };
  }
}

/** Refuses commands and breakpoints: a function has no nodes to stop at, and no interrupts. */
function assertInputOnly(call: RunCall) {
  const fields = ["command", "interrupt_before", "interrupt_after"] as const;
  const refused = fields.find((field) => {
    const value = call[field];
    return Array.isArray(value) ? value.length > 0 : Boolean(value);
  });
  if (refused === undefined) return;
  throw new Error(
    `Graph "${call.graph_id}" is a plain function: it accepts input, not ${refused}.`,
  );
}

/** Refuses `goto`, `resume` and other nodes: a function is the only node of its graph, and has no interrupts. */
function assertValuesOnly(graph_id: string, { as_node, command }: WireUpdate) {
  const others = ["goto", "resume"] as const;
  const field = others.find((name) => (command?.[name] ?? null) !== null);
  if (field) {
    throw new Error(`Graph "${graph_id}" is a plain function: it accepts values, not ${field}.`);
  }
  if (as_node === null || [...EDGES, graph_id].includes(as_node)) return;
  throw new Error(`Graph "${graph_id}" is a plain function: it has no node "${as_node}".`);
}

/** Returns the state of the checkpoint that the run requests, otherwise that of the newest checkpoint. */
async function readStart(call: RunCall, host: Host): Promise<FunctionState> {
  const { checkpoint_id, checkpoint_ns } = call.config.configurable ?? {};
  // A run that resumes has no checkpoint_id: it continues from its own checkpoint.
  if (!checkpoint_id) return readState(call.head);
  assertRootNamespace(call.graph_id, String(checkpoint_ns ?? ""));
  return readAt(host, String(checkpoint_id), call.head);
}

/**
 * Returns the state of a checkpoint. The next checkpoint gets an id that sorts after that of the thread's `head`.
 * @throws Error when the checkpoint does not exist
 */
async function readAt(
  host: Host,
  checkpoint_id: string,
  head: LoadedCheckpoint | null,
): Promise<FunctionState> {
  const loaded = await host.readCheckpoint("", checkpoint_id);
  if (loaded === null) throw new Error(`Checkpoint ${checkpoint_id} is not in the thread.`);
  return { ...readState(loaded), newest_id: head?.checkpoint_id ?? null };
}

function assertRootNamespace(graph_id: string, ns: string) {
  if (ns === "") return;
  throw new Error(`Graph "${graph_id}" is a plain function: it has no namespace "${ns}".`);
}
