import { z } from "@hono/zod-openapi";
import { invalid } from "../../../../shared/errors.ts";
import { router } from "../../../../shared/http/http.ts";
import { jsonText } from "../../../../shared/http/json-body.ts";
import { body, json, operationWithTag } from "../../../../shared/schema.ts";
import { CheckpointName } from "../../contract/requests/checkpoint-schema.ts";
import { ThreadPath } from "../../contract/requests/schema.ts";
import { toList } from "../run-http.ts";
import { updateThread } from "../threads/service.ts";
import {
  CheckpointBody,
  HistoryQuery,
  StateFields,
  StatePatch,
  StateQuery,
  StateUpdate,
  StateUpdated,
  ThreadState,
} from "./state-schema.ts";
import { type CheckpointPosition, getHistory, getState, updateState } from "./state-service.ts";

const THREAD = "/agents/{deployment_id}/threads/{thread_id}";
const operation = operationWithTag("Thread state");
/** Fields are optional because requests may select some. */
const SomeState = ThreadState.partial();

export const stateRoutes = router();

stateRoutes.openapi(
  operation("get", `${THREAD}/state`, "getThreadState", {
    summary: "Get the thread state",
    description: "Values, next nodes, tasks and interrupts of the newest checkpoint.",
    request: { params: ThreadPath, query: StateQuery },
    responses: { 200: json(SomeState, "The state") },
  }),
  async (c) => {
    const { subgraphs, select } = c.req.valid("query");
    const at = { ns: "", checkpoint_id: null, subgraphs, select: toFields(select) };
    return jsonText(await getState(c.var.ctx, c.req.valid("param"), at));
  },
);

stateRoutes.openapi(
  operation("get", `${THREAD}/state/{checkpoint_id}`, "getThreadStateAt", {
    summary: "Get the state at a checkpoint",
    description: "Values, next nodes, tasks and interrupts of the checkpoint in the path.",
    request: {
      params: ThreadPath.extend({ checkpoint_id: CheckpointName.describe("Id of the checkpoint") }),
      query: StateQuery,
    },
    responses: { 200: json(SomeState, "The state") },
  }),
  async (c) => {
    const { checkpoint_id, ...id } = c.req.valid("param");
    const { subgraphs, select } = c.req.valid("query");
    const at = { ns: "", checkpoint_id, subgraphs, select: toFields(select) };
    return jsonText(await getState(c.var.ctx, id, at));
  },
);

stateRoutes.openapi(
  operation("post", `${THREAD}/state/checkpoint`, "getThreadStateAtCheckpoint", {
    summary: "Get the state at any checkpoint",
    description: "The body can name a checkpoint of a subgraph.",
    request: { params: ThreadPath, body: body(CheckpointBody) },
    responses: { 200: json(SomeState, "The state") },
  }),
  async (c) => {
    const { checkpoint, subgraphs, select } = c.req.valid("json");
    const at = {
      ...toPosition(checkpoint, null),
      subgraphs: subgraphs ?? false,
      select: select ?? [],
    };
    return jsonText(await getState(c.var.ctx, c.req.valid("param"), at));
  },
);

stateRoutes.openapi(
  operation("post", `${THREAD}/state`, "updateThreadState", {
    summary: "Update the thread state",
    description: "Writes a checkpoint as if a node had written the values.",
    request: { params: ThreadPath, body: body(StateUpdate) },
    responses: { 200: json(StateUpdated, "The new checkpoint") },
  }),
  async (c) => {
    const { values, as_node, checkpoint, checkpoint_id } = c.req.valid("json");
    const update = { ...toPosition(checkpoint, checkpoint_id), values, as_node: as_node ?? null };
    return jsonText(await updateState(c.var.ctx, c.req.valid("param"), update));
  },
);

stateRoutes.openapi(
  operation("post", `${THREAD}/history`, "getThreadHistory", {
    summary: "List thread states",
    description: "Newest first.",
    request: { params: ThreadPath, body: body(HistoryQuery) },
    responses: { 200: json(z.array(SomeState), "The states") },
  }),
  async (c) => {
    const { limit, before, metadata, checkpoint, select } = c.req.valid("json");
    const before_id =
      typeof before === "string"
        ? before
        : (before?.checkpoint_id ?? before?.configurable?.checkpoint_id ?? null);
    const query = {
      ...toPosition(checkpoint, null),
      limit: limit ?? 10,
      before_id,
      metadata: metadata ?? null,
      select: select ?? [],
    };
    return jsonText(await getHistory(c.var.ctx, c.req.valid("param"), query));
  },
);

stateRoutes.openapi(
  operation("patch", `${THREAD}/state`, "patchThreadState", {
    summary: "Update thread metadata",
    description: "For older clients. Merges `metadata` into the thread's metadata.",
    request: { params: ThreadPath, body: body(StatePatch) },
    responses: { 204: { description: "The metadata was merged" } },
  }),
  async (c) => {
    const { deployment_id, thread_id } = c.req.valid("param");
    await updateThread(c.var.ctx, { deployment_id, thread_id }, c.req.valid("json"));
    return c.body(null, 204);
  },
);

/** Reads fields from a query: repeated keys or one JSON list. Validates them like the fields in a body. */
function toFields(select: string | string[] | undefined): string[] {
  const fields = StateFields.safeParse(toList(select));
  if (fields.success) return fields.data;
  throw invalid(["query", "select"], fields.error.issues[0]?.message ?? "is wrong");
}

function toPosition(
  checkpoint: z.infer<typeof CheckpointBody>["checkpoint"] | null | undefined,
  checkpoint_id: string | null | undefined,
): CheckpointPosition {
  return {
    ns: checkpoint?.checkpoint_ns ?? "",
    checkpoint_id: checkpoint_id ?? checkpoint?.checkpoint_id ?? null,
  };
}
