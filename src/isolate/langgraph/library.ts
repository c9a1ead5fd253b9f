import * as langgraph from "@langchain/langgraph";
import type * as Schemas from "@langchain/langgraph/zod/schema";
import * as schemas from "@langchain/langgraph/zod/schema";
import * as checkpoint from "@langchain/langgraph-checkpoint";

// Read by name: a bundle fails on a named import that an old version lacks.

/** Functions for JSON Schemas. None before 0.2.68: the build puts an empty module in place of the missing one. */
export const zodSchemas = { ...schemas } as Partial<typeof Schemas>;

/** Absent before 0.2.31, where no graph can interrupt itself. */
const Command = Reflect.get(langgraph, "Command") as typeof langgraph.Command | undefined;

export function newCommand(fields: ConstructorParameters<typeof langgraph.Command>[0]) {
  if (Command) return new Command(fields);
  throw new Error(
    "This version of LangGraph has no commands. Update @langchain/langgraph to 0.2.31 or newer.",
  );
}

/** Whether interrupts are in the stream of values. Before 0.3.0, only the state has them. */
export const EMITS_INTERRUPTS = Reflect.has(langgraph, "isInterrupted");

/** Whether a subgraph that begins a step again uses its stored writes. Before 1.5.3, it runs the nodes again. */
export const REAPPLIES_WITHIN = Reflect.has(langgraph, "isInvalidResume");

/** Absent from langgraph-checkpoint before 0.0.10. */
export const InvalidNamespaceError = Reflect.get(checkpoint, "InvalidNamespaceError") as
  | typeof checkpoint.InvalidNamespaceError
  | undefined;

/** Absent from langgraph-checkpoint before 0.0.8. */
export const AsyncBatchedStore = Reflect.get(checkpoint, "AsyncBatchedStore") as
  | typeof checkpoint.AsyncBatchedStore
  | undefined;
