import { WorkerEntrypoint } from "cloudflare:workers";
import type {
  AgentEntrypoint,
  Answer,
  Checkpoint,
  GraphCall,
  GraphDescription,
  HistoryCall,
  Host,
  Op,
  RunCall,
  RunOutcome,
  StateCall,
  ThreadSummary,
  UpdateCall,
} from "./contract.ts";
import { answer, toFailure } from "./failure.ts";
import { Outbox } from "./outbox.ts";

/** One way to drive a graph: LangGraph's, or our own for plain functions. */
export interface Engine {
  describe(): Promise<GraphDescription>;
  /** Runs to the end, an interrupt or the abort; everything said goes to the outbox. */
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
  /** Reads where the thread stands from what this run has written, without a round trip. */
  onSummary(summarize: () => Promise<ThreadSummary>): void;
};

/** Builds the entrypoint class from `openEngine`, which turns a graph id into its engine. */
export function agentClass(
  graphIds: () => string[],
  openEngine: (graph_id: string, call: GraphCall | null) => Promise<Engine>,
) {
  return class Agent extends WorkerEntrypoint implements AgentEntrypoint {
    async describe(): Promise<Answer<GraphDescription[]>> {
      return answer(() =>
        Promise.all(graphIds().map(async (id) => (await openEngine(id, null)).describe())),
      );
    }

    async run(call: RunCall, host: Host): Promise<RunOutcome> {
      const outbox = new Outbox(host);
      const abort = new AbortController();
      void host.cancelled().then((cancelled) => {
        if (cancelled) abort.abort("cancelled");
      });
      let summarize: (() => Promise<ThreadSummary>) | undefined;
      const onSummary = (read: () => Promise<ThreadSummary>) => {
        summarize = read;
      };
      const failure = await attempt(async () => {
        const engine = await openEngine(call.graph_id, call);
        await engine.run(call, { host, outbox, signal: abort.signal, onSummary });
      });
      const summary = (await summarize?.().catch(() => null)) ?? null;
      return { ops: await outbox.drain(), failure, summary };
    }

    async getState(call: StateCall, host: Host): Promise<Answer<string>> {
      return answer(async () => (await openEngine(call.graph_id, call)).getState(call, host));
    }

    async getHistory(call: HistoryCall, host: Host): Promise<Answer<string>> {
      return answer(async () => (await openEngine(call.graph_id, call)).getHistory(call, host));
    }

    async summarize(call: GraphCall, host: Host): Promise<Answer<ThreadSummary>> {
      return answer(async () => (await openEngine(call.graph_id, call)).summarize(call, host));
    }

    async updateState(
      call: UpdateCall,
      host: Host,
    ): Promise<Answer<{ checkpoint: Checkpoint; summary: ThreadSummary; ops: Op[] }>> {
      return answer(async () => {
        const engine = await openEngine(call.graph_id, call);
        const outbox = new Outbox(host);
        const checkpoint = await engine.updateState(call, host, outbox);
        await outbox.flush();
        return { checkpoint, summary: await engine.summarize(call, host), ops: [] };
      });
    }
  };
}

async function attempt(work: () => Promise<void>) {
  try {
    await work();
    return null;
  } catch (error) {
    return toFailure(error);
  }
}
