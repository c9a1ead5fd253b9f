import type {
  AgentEntrypoint,
  AgentFailure,
  AgentProps,
  Answer,
  Checkpoint,
  DrawCall,
  GraphCall,
  GraphDescription,
  GraphRef,
  GraphSchemas,
  HistoryCall,
  Host,
  Op,
  RunCall,
  RunOutcome,
  StateCall,
  SubgraphsCall,
  ThreadSummary,
  UpdateCall,
  WireConfig,
} from "../contract.ts";
import { answer, toFailure } from "../failure.ts";
import {
  describeBytes,
  MAX_MESSAGE_BYTES,
  messageBytes,
  StateLimitError,
  sendable,
} from "../message-size.ts";
import { Outbox } from "../outbox.ts";
import { PendingWork } from "../pending-work.ts";
import { withServer } from "../server.ts";
import { RunTracer } from "../tracing/run-tracer.ts";
import { isTracingOff } from "../tracing/tracing-switch.ts";
import { toWire } from "../wire.ts";
import { AgentCode } from "./agent-code.ts";
import { assertAuth } from "./auth.ts";
import { assertApp } from "./http-app.ts";
import { streamLogs } from "./lines.ts";
import { limitOf, RunTimeoutError, withinLimit } from "./run-limit.ts";
import { asRun } from "./tokens.ts";

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
  /** Reads the thread's summary from this run's writes, without a round trip. */
  onSummary(summarize: () => Promise<ThreadSummary>): void;
};

/** Purpose of opening a graph, in the names that factories of graphs receive. */
type Access = "assistants.read" | "threads.create_run" | "threads.read" | "threads.update";
export type ServerRuntime = {
  accessContext: Access;
  /** `null` outside of runs. */
  executionRuntime: { context: unknown } | null;
};

type OpenEngine = (graph_id: string, config: WireConfig, runtime: ServerRuntime) => Promise<Engine>;

type GraphRequest = Pick<GraphRef, "graph_id"> & Partial<Pick<GraphCall, "config" | "context">>;
type Open = (call: GraphRequest, accessContext: Access) => Promise<Engine>;

function opener(openEngine: OpenEngine): Open {
  return ({ graph_id, config = {}, context }, accessContext) => {
    const isRun = accessContext === "threads.create_run";
    return openEngine(graph_id, config, {
      accessContext,
      executionRuntime: isRun ? { context } : null,
    });
  };
}

/** Builds the entrypoint class from `openEngine`, which turns a graph id into its engine. */
export function agentClass(graphIds: () => string[], openEngine: OpenEngine) {
  const open = opener(openEngine);
  const read = (graph_id: string) => open({ graph_id }, "assistants.read");
  return class Agent extends AgentCode implements AgentEntrypoint {
    async describe(): Promise<Answer<GraphDescription[]>> {
      return answer(() => {
        assertAuth();
        assertApp();
        return Promise.all(graphIds().map(async (id) => (await read(id)).describe()));
      });
    }

    async drawGraph(call: DrawCall): Promise<Answer<string>> {
      return answer(async () => {
        const engine = await open(call, "assistants.read");
        return toWire(await engine.draw(call.xray));
      });
    }

    async describeSchemas(call: GraphRef): Promise<Answer<GraphSchemas>> {
      return answer(async () => {
        const engine = await open(call, "assistants.read");
        return (await engine.describe()).schemas;
      });
    }

    async describeSubgraphs(call: SubgraphsCall): Promise<Answer<Record<string, GraphSchemas>>> {
      return answer(async () => (await open(call, "assistants.read")).subgraphs(call));
    }

    async isTraced(): Promise<boolean> {
      return !isTracingOff(process.env);
    }

    async run(call: RunCall, host: Host): Promise<RunOutcome> {
      return runInContext(this.ctx, open, call, host);
    }

    async getState(call: StateCall, host: Host): Promise<Answer<string>> {
      const text = async () => (await open(call, "threads.read")).getState(call, host);
      return answer(async () => sendable("The state", await text()));
    }

    async getHistory(call: HistoryCall, host: Host): Promise<Answer<string>> {
      const text = async () => (await open(call, "threads.read")).getHistory(call, host);
      return answer(async () => sendable("The newest state", await text()));
    }

    async summarize(call: GraphCall, host: Host): Promise<Answer<ThreadSummary>> {
      return answer(async () => (await open(call, "threads.read")).summarize(call, host));
    }

    async updateState(
      call: UpdateCall,
      host: Host,
    ): Promise<Answer<{ checkpoint: Checkpoint; summary: ThreadSummary; ops: Op[] }>> {
      return answer(async () => {
        const engine = await open(call, "threads.update");
        const outbox = new Outbox(host);
        const checkpoint = await engine.updateState(call, host, outbox);
        await outbox.flush();
        return { checkpoint, summary: await engine.summarize(call, host), ops: [] };
      });
    }
  };
}

async function runInContext(
  ctx: ExecutionContext<AgentProps>,
  open: Open,
  call: RunCall,
  host: Host,
): Promise<RunOutcome> {
  const { props } = ctx;
  const pending = new PendingWork();
  // The given stub is disposed with the call; the run may write to the store after it.
  const held = hold(host);
  const work = () => pending.run(() => runGraph(open, call, held, pending));
  const hasMore = () => pending.isLeft;
  try {
    return await streamLogs(props, () => withServer(props?.server, work), hasMore);
  } finally {
    const end = pending.isLeft ? pending.settled() : Promise.resolve();
    ctx.waitUntil(end.finally(() => held[Symbol.dispose]?.()));
  }
}

type HeldHost = Host & Partial<Disposable>;

function hold(host: Host & { dup?(): HeldHost }): HeldHost {
  return host.dup?.() ?? host;
}

async function runGraph(
  open: Open,
  call: RunCall,
  host: Host,
  pending: PendingWork,
): Promise<RunOutcome> {
  const outbox = new Outbox(host);
  const tracer = isTracingOff(process.env) ? null : new RunTracer(call, outbox);
  outbox.onSend((batch) => tracer?.piggyback(batch) ?? []);
  const abort = abortedBy(host, () => pending.abort());
  let summarize = async (): Promise<ThreadSummary | null> => null;
  const onSummary: RunTools["onSummary"] = (read) => {
    summarize = read;
  };
  const limit = { start: call.trace.start_time, seconds: limitOf(process.env) };
  const end = await attempt(() => {
    const work = asRun(host, async () => {
      const engine = await open(call, "threads.create_run");
      await engine.run(call, { host, outbox, signal: abort.signal, tracer, onSummary });
    });
    return withinLimit(work, limit, () => abort.abort("timeout"));
  });
  const { failure, is_timeout, summary } = withSummary(end, await summarize().catch(() => null));
  if (failure && !(abort.signal.aborted && !is_timeout)) logFailure(call, failure);
  tracer?.finish(failure);
  const ops = await outbox.drain(summary ? messageBytes(summary.values) : 0);
  const traces = tracer && !tracer.isBrief ? async () => tracer.drain() : null;
  if (tracer && traces === null) ops.push(...tracer.drain().ops);
  return { ops, failure, is_timeout, summary, traces };
}

type End = Pick<RunOutcome, "failure" | "is_timeout">;

/** Values that do not fit one message end the run, which would be lost and repeated otherwise. */
function withSummary(end: End, summary: ThreadSummary | null): End & Pick<RunOutcome, "summary"> {
  const bytes = summary ? messageBytes(summary.values) : 0;
  if (bytes <= MAX_MESSAGE_BYTES) return { ...end, summary };
  const text = `The values of the state have ${describeBytes(bytes)}, more than ${describeBytes(MAX_MESSAGE_BYTES)}. Store large values outside of the state.`;
  const failure = end.failure ?? toFailure(new StateLimitError(text));
  return { ...end, failure, summary: null };
}

function abortedBy(host: Host, onAbort: () => void): AbortController {
  const abort = new AbortController();
  abort.signal.addEventListener("abort", onAbort);
  void host.cancelled().then(
    (cancelled) => cancelled && abort.abort("cancelled"),
    () => {}, // The thread is deleted, so no cancellation can come.
  );
  return abort;
}

/** The deployment's log has the stack of each failed run. */
function logFailure({ run_id }: RunCall, { error, message, stack }: AgentFailure): void {
  // biome-ignore lint/suspicious/noConsole: the log of the agent
  console.error(`Run ${run_id} failed: ${stack ?? `${error}: ${message}`}`);
}

async function attempt(work: () => Promise<void>) {
  try {
    await work();
    return { failure: null, is_timeout: false };
  } catch (error) {
    return { failure: toFailure(error), is_timeout: error instanceof RunTimeoutError };
  }
}
