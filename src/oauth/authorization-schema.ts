import { z } from "@hono/zod-openapi";
import { list, Uuid } from "../shared/schema.ts";
import { ProviderId } from "./provider-schema.ts";
import { AgentId } from "./token-schema.ts";

const ScopeToken = z
  .string()
  .max(512)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, "must be a scope: printable ASCII without spaces");

const UserId = z.string().trim().min(1).max(256);

export const AuthenticateRequest = z
  .object({
    provider: ProviderId,
    scopes: list(ScopeToken),
    user_id: UserId.nullish().openapi({
      description: "Which of the caller's own users the token is for; absent: the caller itself.",
    }),
    ls_user_id: UserId.nullish().openapi({ description: "The caller's own user id, or absent." }),
    agent_id: AgentId.nullish(),
    force_new: z.boolean().nullish(),
    token_id: Uuid.nullish(),
    is_default: z.boolean().nullish(),
    use_agent_builder_public_oauth: z.boolean().nullish(),
  })
  .openapi("OAuthAuthenticateRequest");
export type AuthenticateRequest = z.infer<typeof AuthenticateRequest>;

export const Authentication = z
  .object({
    status: z.enum(["completed", "pending", "connection_required", "token_expired"]),
    url: z.string().nullable().openapi({ description: "Where the user consents, while pending." }),
    auth_id: Uuid.nullable(),
    token: z.string().nullable(),
    user_id: z.string().nullable(),
    metadata: z.record(z.string(), z.unknown()).nullable(),
  })
  .openapi("OAuthAuthenticateResponse");
export type Authentication = z.infer<typeof Authentication>;

export const AuthorizationPath = z.object({ auth_id: Uuid });

/** The longest that published clients ask for. */
const MAX_WAIT_SECONDS = 300;
export const WaitQuery = z.object({
  timeout: z.coerce.number().min(0).max(MAX_WAIT_SECONDS).default(30),
});

export const Waited = z
  .object({
    status: z.enum(["completed", "pending", "timeout", "not_found", "failed"]),
    token: z.string().nullable(),
    error: z.string().nullable().openapi({ description: "Why it failed." }),
  })
  .openapi("OAuthWaitResponse");
export type Waited = z.infer<typeof Waited>;

const Text = z.string().max(8192);

export const CallbackQuery = z.object({
  code: Text.optional(),
  state: Text.optional(),
  iss: Text.optional(),
  error: Text.optional(),
  error_description: Text.optional(),
});
export type CallbackQuery = z.infer<typeof CallbackQuery>;

/** What the page of the callback sends: the query that it was opened with, and the answer. */
export const Confirmation = z
  .object({
    state: Text.min(1),
    code: Text.min(1),
    iss: Text.optional(),
    answer: z.enum(["connect", "cancel"]),
  })
  .openapi("OAuthConfirmation");
export type Confirmation = z.infer<typeof Confirmation>;

export const SetupQuery = CallbackQuery.extend({
  setup_action: Text.optional(),
  installation_id: Text.optional(),
});

export const CallbackRequest = z
  .object({ code: Text.min(1), state: Text.min(1) })
  .openapi("OAuthCallbackRequest");

export const CallbackAnswer = z
  .object({ status: z.literal("completed"), provider_id: z.string(), token_id: Uuid })
  .openapi("OAuthCallbackResponse");
export type CallbackAnswer = z.infer<typeof CallbackAnswer>;
