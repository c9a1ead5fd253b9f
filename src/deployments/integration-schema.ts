import { z } from "@hono/zod-openapi";
import { HttpUrl, Uuid } from "../shared/schema.ts";

const App = z
  .object({
    app_id: z.string().regex(/^[\w.-]{1,100}$/, "must be the app's id or its client id"),
    installation_id: z.number().int().positive(),
    private_key: z.string().max(16_384),
  })
  .openapi({
    description: "A GitHub App that is installed there; its key signs for tokens of an hour.",
  });

export const IntegrationCreateRequest = z
  .object({
    name: z.string().trim().min(1).max(100),
    token: z
      .string()
      .min(1)
      .max(4096)
      .regex(/^[\x21-\x7e]+$/, "must be printable ASCII")
      .optional()
      .openapi({
        description: "Sent to the repository host alone; never part of an answer.",
      }),
    app: App.optional(),
    api_url: HttpUrl.default("https://api.github.com").openapi({
      description: "Repositories must be on this host, or on it without api. before.",
    }),
  })
  .refine(({ token, app }) => (token === undefined) !== (app === undefined), {
    path: ["token"],
    message: "give either token or app",
  })
  .openapi("GithubIntegrationCreateRequest");
export type IntegrationCreateRequest = z.infer<typeof IntegrationCreateRequest>;

export const IntegrationPath = z.object({ integration_id: Uuid });

export const Webhook = z
  .object({
    url: z.string().openapi({ description: "Where the repository host sends its push events." }),
    secret: z.string().openapi({ description: "What it signs them with." }),
  })
  .openapi("Webhook");
export type Webhook = z.infer<typeof Webhook>;

export const WebhookAnswer = z
  .object({
    revisions: z.array(Uuid).openapi({ description: "What is built because of the push." }),
    detail: z.string(),
  })
  .openapi("WebhookAnswer");
export type WebhookAnswer = z.infer<typeof WebhookAnswer>;

export const Integration = z
  .object({
    id: Uuid,
    installation_id: z.number().int(),
    name: z.string(),
    api_url: z.string(),
  })
  .openapi("GithubIntegration");
export type Integration = z.infer<typeof Integration>;

export const Repository = z
  .object({
    host_integration_id: Uuid,
    id: z.number().int(),
    name: z.string(),
    owner: z.string(),
    url: z.string(),
    default_branch: z.string().nullable(),
  })
  .openapi("GithubRepository");
export type Repository = z.infer<typeof Repository>;
