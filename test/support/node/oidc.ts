import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AccessToken, Provider } from "oidc-provider";
import { freePort } from "../../../local/processes/ports.ts";

type OidcOptions = {
  redirect_uris: string[];
  /** Without it nothing is revoked, and no address for it is published. */
  revokes?: boolean;
};

type Fault = { path: string; status?: number; retry_after?: number; drops?: boolean };
type Held = { path: string; arrived: () => void; released: Promise<void> };

export type Oidc = {
  issuer: string;
  client_id: string;
  client_secret: string;
  /** An MCP server beside it whose tokens it gives. */
  mcp_server_url: string;
  log: string[];
  /** Chooses who sits at the browser when a request has no login_hint. */
  seat(account: string): void;
  /** An access token that it would let in now. */
  find(access_token: string): Promise<AccessToken | undefined>;
  fail(fault: Fault): void;
  /** Carries out the request, then holds the answer back until released. */
  hold(path: string): { arrived: Promise<void>; release(): void };
  close(): Promise<void>;
};

const CLIENT = { client_id: "app", client_secret: "app-secret-0000000000000000000000000000" };
// Long enough for a slow machine to read the token once before it ends.
const SHORT_SECONDS = 3;
const LONG_SECONDS = 3600;

/** A certified OAuth and OpenID server on loopback. Its user consents, except to a scope named `refuse`. */
export async function startOidc({ redirect_uris, revokes = true }: OidcOptions): Promise<Oidc> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const mcp_server_url = `${issuer}/mcp`;
  const provider = new Provider(issuer, configuration(redirect_uris, revokes, mcp_server_url));
  const log: string[] = [];
  provider.on("grant.success", ({ oidc }) => log.push(String(oidc.params?.grant_type)));
  provider.on("grant.error", ({ oidc }) => log.push(`no ${oidc.params?.grant_type}`));
  provider.on("refresh_token.destroyed", () => log.push("refresh token destroyed"));
  provider.on("access_token.destroyed", () => log.push("access token destroyed"));

  let seated = "ada";
  const faults: Fault[] = [];
  const held: Held[] = [];
  const callback = provider.callback();
  const pages: Record<string, (response: ServerResponse) => void> = {
    "/mcp": (response) => challenge(response, issuer),
    "/.well-known/oauth-protected-resource/mcp": (response) =>
      json(response, { resource: mcp_server_url, authorization_servers: [issuer] }),
  };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", issuer);
    const fault = take(faults, pathname);
    if (fault) return answerWith(fault, request, response);
    const hold = take(held, pathname);
    if (hold) holdAnswer(response, hold);
    const page = pages[pathname];
    if (page) page(response);
    else if (pathname.startsWith("/person/")) void decide(provider, seated, request, response);
    else callback(request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    issuer,
    ...CLIENT,
    mcp_server_url,
    log,
    find: (access_token) => provider.AccessToken.find(access_token),
    seat: (account) => {
      seated = account;
    },
    fail: (fault) => void faults.push(fault),
    hold: (path) => {
      const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      held.push({ path, arrived: arrived.resolve, released: released.promise });
      return { arrived: arrived.promise, release: released.resolve };
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function configuration(redirect_uris: string[], revokes: boolean, mcp_server_url: string) {
  const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const jwk = { ...key.export({ format: "jwk" }), use: "sig", alg: "ES256" };
  return {
    jwks: { keys: [jwk] },
    cookies: { keys: [randomBytes(16).toString("hex")] },
    scopes: ["openid", "offline_access", "email", "repo", "deploy", "refuse"],
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    // ID tokens carry the email, as those of most issuers do.
    conformIdTokenClaims: false,
    clients: [
      {
        ...CLIENT,
        redirect_uris,
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "client_secret_basic",
        id_token_signed_response_alg: "ES256",
      },
    ],
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: revokes },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: "repo deploy",
          audience: mcp_server_url,
          accessTokenFormat: "opaque",
        }),
        useGrantedResource: () => true,
      },
    },
    pkce: { required: () => true },
    /** The first access token of a person named short ends at once, so that it must be refreshed. */
    ttl: {
      AccessToken: (_ctx: unknown, token: { accountId: string; gty: string }) =>
        token.accountId === "short" && token.gty === "authorization_code"
          ? SHORT_SECONDS
          : LONG_SECONDS,
      AuthorizationCode: 60,
      RefreshToken: LONG_SECONDS,
      IdToken: LONG_SECONDS,
      Grant: LONG_SECONDS,
      Interaction: 60,
      Session: 600,
    },
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    findAccount: async (_ctx: unknown, id: string) => ({
      accountId: id,
      claims: async () => ({ sub: id, email: `${id}@example.test`, email_verified: true }),
    }),
    interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `/person/${uid}` },
  };
}

/** Signs in as the login_hint and consents, unless the scope is `refuse`. */
async function decide(
  provider: Provider,
  seated: string,
  request: IncomingMessage,
  response: ServerResponse,
) {
  const { params, session, grantId } = await provider.interactionDetails(request, response);
  const accountId = session?.accountId ?? params.login_hint ?? seated;
  const { client_id: clientId, scope = "", resource } = params;
  if (scope.includes("refuse")) {
    const refusal = { error: "access_denied", error_description: "The person said no" };
    return provider.interactionFinished(request, response, refusal);
  }
  const grant = grantId
    ? await provider.Grant.find(grantId)
    : new provider.Grant({ accountId, clientId });
  grant.addOIDCScope(scope);
  if (resource) grant.addResourceScope(resource, scope);
  const result = { login: { accountId }, consent: { grantId: await grant.save() } };
  return provider.interactionFinished(request, response, result);
}

function take<T extends { path: string }>(list: T[], path: string): T | undefined {
  const index = list.findIndex((one) => one.path === path);
  return index < 0 ? undefined : list.splice(index, 1)[0];
}

function answerWith(fault: Fault, request: IncomingMessage, response: ServerResponse) {
  if (fault.drops) return void request.socket.destroy();
  const { status = 503, retry_after } = fault;
  response.writeHead(status, retry_after === undefined ? {} : { "retry-after": `${retry_after}` });
  response.end('{"error":"temporarily_unavailable"}');
}

function holdAnswer(response: ServerResponse, { arrived, released }: Held) {
  const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
  response.end = (...args: unknown[]) => {
    arrived();
    void released.then(() => end(...args));
    return response;
  };
}

function challenge(response: ServerResponse, issuer: string) {
  const metadata = `${issuer}/.well-known/oauth-protected-resource/mcp`;
  response.writeHead(401, { "WWW-Authenticate": `Bearer resource_metadata="${metadata}"` });
  response.end();
}

function json(response: ServerResponse, body: object) {
  response.writeHead(200, { "Content-Type": "application/json" });
  response.end(JSON.stringify(body));
}

type Page = { status: number; url: string; text: string };

/** A browser without a screen: follows redirects and presses the button of a page. */
export async function browse(start: string, answer = "connect"): Promise<Page> {
  const page = await visit(start);
  const [, action] = /<form method="post" action="([^"]+)">/.exec(page.text) ?? [];
  if (action === undefined) return page;
  const inputs = page.text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
  const body = new URLSearchParams({ answer });
  for (const [, name = "", value = ""] of inputs) body.set(name, value);
  const url = new URL(action, page.url).href;
  const response = await fetch(url, { method: "POST", body });
  return { status: response.status, url: page.url, text: await response.text() };
}

/** Follows redirects with cookies until a page, and gives that. */
export async function visit(start: string): Promise<Page> {
  const jar = new Map<string, string>();
  let url = start;
  for (let hop = 0; hop < 10; hop++) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      const at = pair.indexOf("=");
      jar.set(pair.slice(0, at), pair.slice(at + 1));
    }
    const location = response.headers.get("location");
    if (location === null) return { status: response.status, url, text: await response.text() };
    await response.body?.cancel();
    url = new URL(location, url).href;
  }
  throw new Error(`${start} redirects without end`);
}
