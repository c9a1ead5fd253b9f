import { z } from "@hono/zod-openapi";
import { list, namedObject, textField, Uuid } from "../../shared/schema.ts";
import { ProviderId } from "./provider-schema.ts";
import { AgentId } from "./token-schema.ts";

const ScopeToken = z
  .string()
  .max(512)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, "must be a scope: printable ASCII without spaces");

/** Scopes are a part of the consent URL, and providers limit the length of URLs. */
const MAX_SCOPE_CHARACTERS = 8000;

const UserId = z.string().trim().min(1).max(256);

export const AuthenticateRequest = namedObject("OAuthAuthenticateRequest", {
  provider: ProviderId.describe("Provider of the token"),
  scopes: list(ScopeToken)
    .refine((scopes) => scopes.join(" ").length <= MAX_SCOPE_CHARACTERS, {
      error: `must have at most ${MAX_SCOPE_CHARACTERS} characters together`,
    })
    .openapi({
      description: "Scopes that the token needs",
      example: ["repo"],
    }),
  user_id: UserId.nullish().describe(
    "Id of the caller's user that the token is for. Default: the caller",
  ),
  ls_user_id: UserId.nullish().describe("Must be the id of the caller, or absent"),
  agent_id: AgentId.nullish().describe("Id of the agent that uses the token"),
  force_new: z
    .boolean()
    .nullish()
    .describe("Whether to require a new consent although a token exists"),
  token_id: Uuid.nullish().describe("Id of the token to use"),
  is_default: z
    .boolean()
    .nullish()
    .describe(
      "Whether the token becomes the default. Default: true; a renewed token stays as it is",
    ),
  use_agent_builder_public_oauth: z.boolean().nullish().describe("Ignored"),
});
export type AuthenticateRequest = z.infer<typeof AuthenticateRequest>;

export const Authentication = namedObject("OAuthAuthenticateResponse", {
  status: z
    .enum(["completed", "pending", "connection_required", "token_expired"])
    .describe(
      "`completed`: `token` is set. `pending`: the user consents at `url`. `token_expired`: the token of `token_id` has ended, and the user consents at `url`. `connection_required`: the token must be connected to the agent first",
    ),
  url: z
    .string()
    .nullable()
    .describe("URL where the user consents; `null` when no consent is needed"),
  auth_id: Uuid.nullable().describe("Id of the authorization at `url`"),
  token: z.string().nullable().describe("Access token, when completed"),
  user_id: z.string().nullable().describe("Id of the user that the token belongs to"),
  metadata: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe(
      "Id of the token as `token_id`; when completed, its `scopes` and `expires_at` too. `null` when the user must consent",
    ),
});
export type Authentication = z.infer<typeof Authentication>;

export const AuthorizationPath = z.object({ auth_id: Uuid.describe("Id of the authorization") });

/** The longest timeout of published clients. */
const MAX_WAIT_SECONDS = 300;
export const WaitQuery = z.object({
  timeout: z.coerce.number().min(0).max(MAX_WAIT_SECONDS).default(30).describe("Seconds to wait"),
});

export const WaitResponse = namedObject("OAuthWaitResponse", {
  status: z
    .enum(["completed", "pending", "timeout", "not_found", "failed"])
    .describe(
      "Status of the authorization. After the wait: `timeout`, or `pending` with a timeout of 0",
    ),
  token: z.string().nullable().describe("Access token, when completed"),
  error: z.string().nullable().describe("Reason for the failure"),
});
export type WaitResponse = z.infer<typeof WaitResponse>;

const Text = z.string().max(8192);

export const CallbackQuery = z.object({
  code: Text.optional().openapi({
    description: "Authorization code of the provider",
    example: "SplxlOBeZQQYbYS6WxSbIA",
  }),
  state: Text.optional().openapi({
    description: "`state` of the authorization URL",
    example: "af0ifjsldkj",
  }),
  iss: Text.optional().describe("Issuer of the authorization server (RFC 9207)"),
  error: Text.optional().describe("OAuth error code"),
  error_description: Text.optional().describe("Text of the OAuth error"),
});
export type CallbackQuery = z.infer<typeof CallbackQuery>;

/** The form of the callback page: the page's query and the user's decision. */
export const Confirmation = namedObject("OAuthConfirmation", {
  state: Text.min(1).openapi({
    description: "`state` of the authorization URL",
    example: "af0ifjsldkj",
  }),
  code: Text.min(1).openapi({
    description: "Authorization code of the provider",
    example: "SplxlOBeZQQYbYS6WxSbIA",
  }),
  iss: Text.optional().describe("Issuer of the authorization server (RFC 9207)"),
  answer: z.enum(["connect", "cancel"]).describe("Choice of the person"),
});
export type Confirmation = z.infer<typeof Confirmation>;

export const SetupQuery = CallbackQuery.extend({
  setup_action: Text.optional().describe("Action that GitHub reports"),
  installation_id: Text.optional().describe("Id of the installation of the GitHub App"),
});

export const CallbackRequest = namedObject("OAuthCallbackRequest", {
  code: Text.min(1).openapi({
    description: "Authorization code of the provider",
    example: "SplxlOBeZQQYbYS6WxSbIA",
  }),
  state: Text.min(1).openapi({
    description: "`state` of the authorization URL",
    example: "af0ifjsldkj",
  }),
});

export const CallbackAnswer = namedObject("OAuthCallbackResponse", {
  status: z.literal("completed").describe("Always `completed`"),
  provider_id: textField("Provider of the token", "github-prod"),
  token_id: Uuid.describe("Id of the token"),
});
export type CallbackAnswer = z.infer<typeof CallbackAnswer>;
