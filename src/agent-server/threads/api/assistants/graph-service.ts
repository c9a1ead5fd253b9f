import { z } from "zod";
import {
  answerOf,
  parseAnswer,
} from "../../../../control-plane/deployments/isolate/agent-answers.ts";
import type {
  AgentEntrypoint,
  Answer,
  GraphSchemas as WireSchemas,
} from "../../../../isolate/contract.ts";
import type { Context } from "../../../../shared/context.ts";
import { invalid } from "../../../../shared/errors.ts";
import { allows } from "../../../../shared/filters.ts";
import { PLAIN_LIMITS, plainData, plainObject } from "../../../../shared/plain.ts";
import { openAgent } from "../../../access/service.ts";
import { asRetryableRead, callAgent } from "../../contract/agent-calls.ts";
import type { RunAssistant } from "../../contract/assistant-ids.ts";
import { isJsonOf } from "../../contract/json-text.ts";
import { MAX_PATH_CHARACTERS } from "../../contract/sizes.ts";
import { toRevisionRef } from "../threads/service.ts";
import { authorizeAssistant } from "./assistant-access.ts";
import { assistantNotFound, resolveAssistant } from "./run-assistants.ts";

/** Schemas of a graph. Limits apply to the whole answer, because several schemas may refer to one object. */
const Schemas: z.ZodType<WireSchemas> = z.object({
  input: z.unknown().default(null),
  output: z.unknown().default(null),
  state: z.unknown().default(null),
  config: z.unknown().default(null),
  context: z.unknown().default(null),
});
const Graph = z.object({ nodes: z.array(z.unknown()), edges: z.array(z.unknown()) });

const GraphAnswer = answerOf(
  z
    .string()
    .max(PLAIN_LIMITS.characters)
    .refine((text) => isJsonOf(Graph, text), "is not JSON text of nodes and edges"),
);
const SchemasAnswer = answerOf(plainData().pipe(Schemas));
const SubgraphsAnswer = answerOf(
  plainObject().pipe(z.record(z.string().max(MAX_PATH_CHARACTERS), Schemas)),
);

type Ref = { deployment_id: string; assistant_id: string };

/** @returns JSON text of `{nodes, edges}` */
export async function drawGraph(ctx: Context, ref: Ref, xray: boolean | number): Promise<string> {
  const { call, graph } = await openGraph(ctx, ref);
  return unwrap(
    await call("drawGraph", GraphAnswer, (agent) => agent.drawGraph({ ...graph, xray })),
  );
}

export async function getSchemas(ctx: Context, ref: Ref) {
  const { call, graph } = await openGraph(ctx, ref);
  const answer = await call("describeSchemas", SchemasAnswer, (agent) =>
    agent.describeSchemas(graph),
  );
  return toSchemas(graph.graph_id, unwrap(answer));
}

/** Returns the schemas by namespace. `namespace` selects one, with its subgraphs when `recurse` is set. */
export async function getSubgraphs(
  ctx: Context,
  ref: Ref,
  query: { namespace: string | null; recurse: boolean },
) {
  const { call, graph } = await openGraph(ctx, ref);
  const answer = await call("describeSubgraphs", SubgraphsAnswer, (agent) =>
    agent.describeSubgraphs({ ...graph, ...query }),
  );
  const found = unwrap(answer);
  return Object.fromEntries(
    Object.entries(found).map(([ns, one]) => [ns, toSubgraph(graph.graph_id, one)]),
  );
}

/** Adds the shorter names that LangGraph's own server returns. */
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

/** Opens the graph of an assistant. Passes the assistant's config: a graph factory may build another graph from it. */
async function openGraph(ctx: Context, { deployment_id, assistant_id }: Ref) {
  const active = await openAgent(ctx, deployment_id, "read");
  const ref = { deployment_id, assistant_id };
  const { filters } = await authorizeAssistant(ctx, active, ref, "read", {});
  const assistant: RunAssistant = await resolveAssistant(ctx, active, assistant_id);
  if (!allows(filters, assistant.metadata)) throw assistantNotFound(active, assistant_id);
  const { graph_id, config } = assistant;
  const call = async <T>(
    method: string,
    schema: z.ZodType<T>,
    work: (agent: AgentEntrypoint) => Promise<unknown>,
  ) =>
    parseAnswer(
      method,
      schema,
      await callAgent(ctx.env, toRevisionRef(active), (agent) =>
        asRetryableRead(() => work(agent)),
      ),
    );
  return { call, graph: { graph_id, config } };
}

function unwrap<T>(answer: Answer<T>): T {
  if (answer.ok) return answer.value;
  throw invalid(["path"], `${answer.error.error}: ${answer.error.message}`);
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
