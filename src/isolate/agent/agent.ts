import type { Checkpoint } from "../checkpoint-contract.ts";
import type {
  AgentEntrypoint,
  Answer,
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
} from "../contract.ts";
import { sendable } from "../message-size.ts";
import { LoadError } from "../modules/agent-module.ts";
import { Outbox } from "../outbox.ts";
import { isTracingOff } from "../tracing/run-tracer.ts";
import { toWire } from "../wire.ts";
import { AgentCode } from "./agent-code.ts";
import { answer } from "./answer.ts";
import { assertAuth } from "./auth.ts";
import { type Engine, type OpenEngine, opener } from "./engine.ts";
import { assertApp } from "./http-app.ts";
import { runInContext } from "./run-graph.ts";

/** Builds the entrypoint class from `openEngine`, which turns a graph id into its engine. */
export function agentClass(graphIds: () => string[], openEngine: OpenEngine) {
  const open = opener(openEngine);
  const read = (graph_id: string) => open({ graph_id }, "assistants.read");
  return class Agent extends AgentCode implements AgentEntrypoint {
    async describe(): Promise<Answer<GraphDescription[]>> {
      return answer(this.ctx, () => describeAll(graphIds(), read));
    }

    async drawGraph(call: DrawCall): Promise<Answer<string>> {
      return answer(this.ctx, async () => {
        const engine = await open(call, "assistants.read");
        return toWire(await engine.draw(call.xray));
      });
    }

    async describeSchemas(call: GraphRef): Promise<Answer<GraphSchemas>> {
      return answer(this.ctx, async () => {
        const engine = await open(call, "assistants.read");
        return (await engine.describe()).schemas;
      });
    }

    async describeSubgraphs(call: SubgraphsCall): Promise<Answer<Record<string, GraphSchemas>>> {
      return answer(this.ctx, async () => (await open(call, "assistants.read")).subgraphs(call));
    }

    async isTraced(): Promise<boolean> {
      return !isTracingOff(process.env);
    }

    async run(call: RunCall, host: Host): Promise<RunOutcome> {
      return runInContext(this.ctx, open, call, host);
    }

    async getState(call: StateCall, host: Host): Promise<Answer<string>> {
      const text = async () => (await open(call, "threads.read")).getState(call, host);
      return answer(this.ctx, async () => sendable("The state", await text()));
    }

    async getHistory(call: HistoryCall, host: Host): Promise<Answer<string>> {
      const text = async () => (await open(call, "threads.read")).getHistory(call, host);
      return answer(this.ctx, async () => sendable("The newest state", await text()));
    }

    async summarize(call: GraphCall, host: Host): Promise<Answer<ThreadSummary>> {
      return answer(this.ctx, async () => (await open(call, "threads.read")).summarize(call, host));
    }

    async updateState(
      call: UpdateCall,
      host: Host,
    ): Promise<Answer<{ checkpoint: Checkpoint; summary: ThreadSummary; ops: Op[] }>> {
      return answer(this.ctx, async () => {
        const engine = await open(call, "threads.update");
        const outbox = new Outbox(host);
        const checkpoint = await engine.updateState(call, host, outbox);
        await outbox.flush();
        return { checkpoint, summary: await engine.summarize(call, host), ops: [] };
      });
    }
  };
}

async function describeAll(
  ids: string[],
  read: (graph_id: string) => Promise<Engine>,
): Promise<GraphDescription[]> {
  try {
    await assertAuth();
    await assertApp();
    return await Promise.all(ids.map(async (id) => (await read(id)).describe()));
  } catch (error) {
    // A build shows what the module has thrown, and ends.
    throw error instanceof LoadError ? error.cause : error;
  }
}
