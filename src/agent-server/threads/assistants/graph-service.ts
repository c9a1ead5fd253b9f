import type { z } from "zod";
import { parseAnswer } from "../../../control-plane/deployments/isolate/agent-answers.ts";
import type { Answer, GraphSchemas as WireSchemas } from "../../../isolate/contract.ts";
import type { Context } from "../../../shared/context.ts";
import { invalid } from "../../../shared/errors.ts";
import { allows } from "../../../shared/filters.ts";
import type { RunAssistant } from "../assistants.ts";
import { GraphAnswer, SchemasAnswer, SubgraphsAnswer } from "../boundary/answers.ts";
import { type AgentStub, callAgent } from "../loop/agent.ts";
import { openAgent, toRevisionRef } from "../service/service.ts";
import { allowAssistant } from "./assistant-access.ts";
import { noAssistant, resolveAssistant } from "./run-assistants.ts";

type Ref = { deployment_id: string; assistant_id: string };

/** `{nodes, edges}` as JSON text. */
export async function drawGraph(ctx: Context, ref: Ref, xray: boolean | number): Promise<string> {
  const { ask, graph } = await openGraph(ctx, ref);
  return unwrap(
    await ask("drawGraph", GraphAnswer, (agent) => agent.drawGraph({ ...graph, xray })),
  );
}

export async function getSchemas(ctx: Context, ref: Ref) {
  const { ask, graph } = await openGraph(ctx, ref);
  const answer = await ask("describeSchemas", SchemasAnswer, (agent) =>
    agent.describeSchemas(graph),
  );
  return toSchemas(graph.graph_id, unwrap(answer));
}

/** By namespace; `namespace` names one, and what is within it when they recurse. */
export async function getSubgraphs(
  ctx: Context,
  ref: Ref,
  query: { namespace: string | null; recurse: boolean },
) {
  const { ask, graph } = await openGraph(ctx, ref);
  const answer = await ask("describeSubgraphs", SubgraphsAnswer, (agent) =>
    agent.describeSubgraphs({ ...graph, ...query }),
  );
  const found = unwrap(answer);
  return Object.fromEntries(
    Object.entries(found).map(([ns, one]) => [ns, toSubgraph(graph.graph_id, one)]),
  );
}

/** By the names that clients' types have, and by those that LangGraph's own server gives. */
function toSubgraph(graph_id: string, found: WireSchemas) {
  const schemas = toSchemas(graph_id, found);
  const { input_schema, output_schema, state_schema, config_schema } = schemas;
  return {
    ...schemas,
    input: input_schema,
    output: output_schema,
    state: state_schema,
    config: config_schema,
  };
}

/** The graph as the assistant configures it: a factory may make another one of another configuration. */
async function openGraph(ctx: Context, { deployment_id, assistant_id }: Ref) {
  const active = await openAgent(ctx, deployment_id, "read");
  const ref = { deployment_id, assistant_id };
  const { filters } = await allowAssistant(ctx, active, ref, "read", {});
  const assistant: RunAssistant = await resolveAssistant(ctx, active, assistant_id);
  if (!allows(filters, assistant.metadata)) throw noAssistant(active, assistant_id);
  const { graph_id, config } = assistant;
  const ask = async <T>(
    call: string,
    schema: z.ZodType<T>,
    question: (agent: AgentStub) => Promise<unknown>,
  ) => parseAnswer(call, schema, await callAgent(ctx.env, toRevisionRef(active), question));
  return { ask, graph: { graph_id, config } };
}

function unwrap<T>(answer: Answer<T>): T {
  if (answer.ok) return answer.value;
  throw invalid(["path"], `${answer.error.error}: ${answer.error.message}`, "graph_error");
}

function toSchemas(graph_id: string, { input, output, state, config, context }: WireSchemas) {
  return {
    graph_id,
    input_schema: toJsonSchema(input),
    output_schema: toJsonSchema(output),
    state_schema: toJsonSchema(state),
    config_schema: toJsonSchema(config),
    context_schema: toJsonSchema(context),
  };
}

function toJsonSchema(value: unknown): Record<string, unknown> | null {
  return typeof value === "object" && value !== null ? { ...value } : null;
}
