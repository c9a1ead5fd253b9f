import { z } from "zod";
import { answerOf } from "../../../../control-plane/deployments/isolate/agent-answers.ts";
import type { GraphSchemas } from "../../../../isolate/contract.ts";
import { PLAIN_LIMITS, plainData, plainObject } from "../../../../shared/plain.ts";
import { isJsonOf } from "../../contract/json-text.ts";
import { MAX_PATH_CHARACTERS } from "../../contract/sizes.ts";

/** Answers of an agent's isolate about its graphs. */

/** All schemas of an answer count together: they may share references. */
const Schemas: z.ZodType<GraphSchemas> = z.object({
  input: z.unknown().default(null),
  output: z.unknown().default(null),
  state: z.unknown().default(null),
  config: z.unknown().default(null),
  context: z.unknown().default(null),
});
const Graph = z.object({ nodes: z.array(z.unknown()), edges: z.array(z.unknown()) });

export const GraphAnswer = answerOf(
  z
    .string()
    .max(PLAIN_LIMITS.characters)
    .refine((text) => isJsonOf(Graph, text), "is not JSON text of nodes and edges"),
);
export const SchemasAnswer = answerOf(plainData().pipe(Schemas));
export const SubgraphsAnswer = answerOf(
  plainObject().pipe(z.record(z.string().max(MAX_PATH_CHARACTERS), Schemas)),
);
