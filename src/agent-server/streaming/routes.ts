import { z } from "@hono/zod-openapi";
import { AppError } from "../../shared/errors.ts";
import { assertWellFormed, router } from "../../shared/http/http.ts";
import { isUpgrade, socketResponse } from "../../shared/http/sockets.ts";
import { sseResponse } from "../../shared/http/sse.ts";
import { body, json, operationWithTag } from "../../shared/schema.ts";
import { ThreadPath } from "../threads/contract/requests/schema.ts";
import type { EventFilter } from "../threads/events/filter.ts";
import {
  Command,
  CommandAnswer,
  EventStreamHeaders,
  EventStreamRequest,
} from "../threads/events/schema.ts";
import { answerCommand } from "./commands.ts";
import { followEvents, openSocket } from "./service.ts";
import { toSession } from "./session-http.ts";

const THREAD = "/agents/{deployment_id}/threads/{thread_id}";
const operation = operationWithTag("Event streaming");

export const protocolRoutes = router();

protocolRoutes.openapi(
  operation("post", `${THREAD}/commands`, "sendThreadCommand", {
    summary: "Send a command",
    description:
      "Commands of the v2 streaming protocol: start a run, answer an interrupt, read the state.",
    request: { params: ThreadPath, body: body(Command) },
    responses: {
      200: json(CommandAnswer, "The response: a success, or an error with its code"),
    },
  }),
  async (c) => {
    const session = toSession(c.var.ctx, c.req.valid("param"), c.req.raw);
    return c.json(await answerCommand(c.var.ctx, session, c.req.valid("json")), 200);
  },
  assertWellFormed,
);

protocolRoutes.openapi(
  operation("post", `${THREAD}/stream/events`, "streamThreadEvents", {
    summary: "Stream thread events",
    description:
      "Server-sent events of the v2 streaming protocol: stored ones first, then new ones.",
    request: { params: ThreadPath, headers: EventStreamHeaders, body: body(EventStreamRequest) },
    responses: {
      200: {
        content: {
          "text/event-stream": {
            schema: z.string(),
            example: 'id: 7\nevent: values\ndata: {"seq":7}\n\n',
          },
        },
        description: "Server-sent events that match the request",
      },
    },
  }),
  async (c) => {
    const session = toSession(c.var.ctx, c.req.valid("param"), c.req.raw);
    const { since, ...filter } = c.req.valid("json");
    const seen = Math.max(since ?? 0, Number(c.req.valid("header")["last-event-id"] ?? 0));
    return sseResponse(await followEvents(c.var.ctx, session, toFilter(filter), seen), {});
  },
  assertWellFormed,
);

protocolRoutes.openapi(
  operation("get", `${THREAD}/stream/events`, "openThreadSocket", {
    summary: "Open a thread socket",
    description:
      "A WebSocket that carries the commands, responses and events of the v2 streaming protocol.",
    request: { params: ThreadPath },
    responses: { 101: { description: "The socket" } },
  }),
  async (c) => {
    const session = toSession(c.var.ctx, c.req.valid("param"), c.req.raw);
    const { webSocket } = await openSocket(c.var.ctx, session, isUpgrade(c.req.raw));
    if (!webSocket) throw new AppError("unavailable", "The thread did not open a socket: retry.");
    return socketResponse(c.req.raw, webSocket);
  },
);

function toFilter({
  channels,
  namespaces,
  depth,
}: {
  channels: string[];
  namespaces?: string[][] | null | undefined;
  depth?: number | null | undefined;
}): EventFilter {
  return { channels, namespaces: namespaces ?? null, depth: depth ?? null };
}
