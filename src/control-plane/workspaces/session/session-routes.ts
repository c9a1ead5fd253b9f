import { originOf, router } from "../../../shared/http/http.ts";
import {
  body,
  ErrorDetail,
  HTTPValidationError,
  json,
  operationWithTag,
} from "../../../shared/schema.ts";
import { sessionCookie } from "../session-token.ts";
import { beginSignIn, finishSignIn, type Redirect, signInWays } from "./issuer-service.ts";
import {
  IssuerReturn,
  Me,
  SessionCreateRequest,
  SignInQuery,
  SignInWays,
} from "./session-schema.ts";
import { createSession, endSession, getMe } from "./session-service.ts";

export const sessionRoutes = router();

const operation = operationWithTag("Sessions");
const PATH = "/v1/session";

const create = operation("post", PATH, "createSession", {
  summary: "Create a session of the console",
  description:
    "Signs in: exchanges a key for a cookie of 12 hours, which is revoked with the key. Requests with the cookie must come from a page of this origin and send `X-Heddle-Console: 1`. A request with a key ignores the cookie.",
  security: [],
  request: { body: body(SessionCreateRequest) },
  responses: {
    200: json(Me, "The principal. `Set-Cookie` has the session"),
    401: json(ErrorDetail, "Invalid key"),
    403: json(ErrorDetail, "Request of a page of another origin"),
  },
});
sessionRoutes.openapi(create, async (c) => {
  const { me, cookie } = await createSession(c.env, c.req.raw.headers, c.req.valid("json"));
  c.header("Set-Cookie", cookie);
  return c.json(me, 200);
});

const ways = operation("get", PATH, "getSignInWays", {
  summary: "Get the ways to sign in",
  description: "What the sign-in page of the console offers.",
  security: [],
  responses: { 200: json(SignInWays, "The ways to sign in") },
});
sessionRoutes.openapi(ways, (c) => c.json(signInWays(c.env), 200));

const REDIRECT = {
  302: { description: "Redirect to the issuer or to the console" },
  422: json(HTTPValidationError, "Invalid parameter"),
};

const begin = operation("get", `${PATH}/issuer`, "beginSignIn", {
  summary: "Open the sign-in page of the issuer",
  description:
    "Redirects a browser to the issuer (authorization code with PKCE), which redirects it to `/v1/session/issuer/callback`.",
  security: [],
  request: { query: SignInQuery },
  responses: REDIRECT,
});
sessionRoutes.openapi(begin, async (c) =>
  redirect(await beginSignIn(c.env, originOf(c.req.url), c.req.valid("query").to)),
);

const finish = operation("get", `${PATH}/issuer/callback`, "finishSignIn", {
  summary: "Receive the browser after sign-in",
  description:
    "Creates a session for the person, and redirects the browser to the console, or to its sign-in page with the reason of a failure.",
  security: [],
  request: { query: IssuerReturn },
  responses: REDIRECT,
});
sessionRoutes.openapi(finish, async (c) =>
  redirect(await finishSignIn(c.env, c.req.raw.headers, new URL(c.req.url))),
);

/** Forbids caches and referrers, because the URLs hold secrets of one sign-in. */
function redirect({ location, cookies }: Redirect): Response {
  const headers = new Headers({ Location: location, "Cache-Control": "no-store" });
  headers.set("Referrer-Policy", "no-referrer");
  for (const cookie of cookies) headers.append("Set-Cookie", cookie);
  return new Response(null, { status: 302, headers });
}

const end = operation("delete", PATH, "deleteSession", {
  summary: "Delete the session of the console",
  description:
    "Signs out: deletes the cookie of this browser. The session ends within 10 seconds, also where the cookie was copied to.",
  security: [],
  responses: { 204: { description: "The session is ended" } },
});
sessionRoutes.openapi(end, async (c) => {
  await endSession(c.env, c.req.raw.headers);
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
