import { router } from "../../../shared/http/http.ts";
import { body, json, operationWithTag } from "../../../shared/schema.ts";
import { sessionCookie } from "../session-token.ts";
import { Me, SessionCreateRequest } from "./session-schema.ts";
import { createSession, getMe } from "./session-service.ts";

export const sessionRoutes = router();

const operation = operationWithTag("Sessions");
const PATH = "/v1/session";

const create = operation("post", PATH, "createSession", {
  summary: "Create a session of the console",
  description:
    "Signs in: exchanges a key for a cookie of 12 hours, which is revoked with the key. Requests with the cookie must come from a page of this origin and send `X-Heddle-Console: 1`. A request with a key ignores the cookie.",
  security: [],
  request: { body: body(SessionCreateRequest) },
  responses: { 200: json(Me, "The principal. `Set-Cookie` has the session") },
});
sessionRoutes.openapi(create, async (c) => {
  const { me, cookie } = await createSession(c.env, c.req.raw.headers, c.req.valid("json"));
  c.header("Set-Cookie", cookie);
  return c.json(me, 200);
});

const end = operation("delete", PATH, "deleteSession", {
  summary: "Delete the session of the console",
  description: "Signs out: deletes the cookie of this browser.",
  security: [],
  responses: { 204: { description: "The cookie is deleted" } },
});
sessionRoutes.openapi(end, (c) => {
  c.header("Set-Cookie", sessionCookie("", 0));
  return c.body(null, 204);
});

const me = operation("get", "/v1/me", "getMe", {
  summary: "Get the principal of the request",
  description:
    "The principal, its organization, and the workspaces that it may enter with its role in each. Needs no `X-Tenant-Id`; with one, only that workspace is listed.",
  responses: { 200: json(Me, "The principal") },
});
sessionRoutes.openapi(me, async (c) => c.json(await getMe(c.env, c.req.raw.headers), 200));
