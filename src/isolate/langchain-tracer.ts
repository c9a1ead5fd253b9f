import { LangChainTracer } from "@langchain/core/tracers/tracer_langchain";
import type { RunTracer } from "./run-tracer.ts";

type Client = NonNullable<NonNullable<ConstructorParameters<typeof LangChainTracer>[0]>["client"]>;

/** The tracer of the agent's own LangChain, sending to us. */
export function langChainTracer(tracer: RunTracer): LangChainTracer {
  const made = new LangChainTracer({ client: asClient(tracer) });
  // In order, and done when the run is: handlers in the background may outlive it.
  made.awaitHandlers = true;
  return made;
}

/** Of the SDK's client, tracers and run trees call only what RunTracer has. */
function asClient(tracer: RunTracer): Client {
  return tracer as unknown as Client;
}
