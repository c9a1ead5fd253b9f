import { z } from "@hono/zod-openapi";
import { HttpUrl, Uuid } from "../../../shared/schema.ts";

const App = z
  .object({
    app_id: z
      .string()
      .regex(/^[\w.-]{1,100}$/, "must be the app's id or its client id")
      .openapi({ description: "Id or client id of the GitHub App", example: "123456" }),
    installation_id: z.number().int().positive().describe("Id of the installation of the App"),
    private_key: z.string().max(16_384).openapi({
      description: "Private key of the App in PEM",
      example: "-----BEGIN RSA PRIVATE KEY-----\n...",
    }),
  })
  .openapi({
    description: "A GitHub App that is installed there; its key signs for tokens of an hour.",
  });

const Name = z.string().trim().min(1).max(100).openapi({
  description: "Name for display, unique in the workspace",
  example: "Acme on GitHub",
});
const Token = z
  .string()
  .min(1)
  .max(4096)
  .regex(/^[\x21-\x7e]+$/, "must be printable ASCII")
  .openapi({ description: "Access token of the repository host. Excludes `app`. Never returned" });

export const IntegrationCreateRequest = z
  .object({
    name: Name,
    token: Token.optional(),
    app: App.optional().describe("Credentials of a GitHub App. Excludes `token`"),
    api_url: HttpUrl.default("https://api.github.com").openapi({
      description:
        "URL of the host's API. Repositories must be on this host, or on this host without `api.`",
    }),
  })
  .refine(({ token, app }) => (token === undefined) !== (app === undefined), {
    path: ["token"],
    message: "give either token or app",
  })
  .openapi("GithubIntegrationCreateRequest");
export type IntegrationCreateRequest = z.infer<typeof IntegrationCreateRequest>;

export const IntegrationPatchRequest = z
  .object({
    name: Name.nullish(),
    token: Token.nullish(),
    app: App.nullish().describe("Credentials of a GitHub App. Excludes `token`"),
    api_url: z.string().nullish().describe("Must be the current URL: the host does not change"),
  })
  .refine(({ token, app }) => token == null || app == null, {
    path: ["token"],
    message: "give either token or app",
  })
  .openapi("GithubIntegrationPatchRequest");
export type IntegrationPatchRequest = z.infer<typeof IntegrationPatchRequest>;

export const IntegrationPath = z.object({ integration_id: Uuid.describe("Id of the integration") });

export const Webhook = z
  .object({
    url: z.string().openapi({
      description: "URL for the host's push events",
      example: "https://heddle.example.com/webhooks/019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071",
    }),
    secret: z.string().openapi({
      description: "Secret that the host signs events with",
      example: "9f86d081884c7d65",
    }),
  })
  .openapi("Webhook");
export type Webhook = z.infer<typeof Webhook>;

export const WebhookAnswer = z
  .object({
    revisions: z.array(Uuid).openapi({ description: "Ids of the revisions that the push created" }),
    detail: z
      .string()
      .openapi({ description: "Result of the event", example: "1 revision was created." }),
  })
  .openapi("WebhookAnswer");
export type WebhookAnswer = z.infer<typeof WebhookAnswer>;

export const Integration = z
  .object({
    id: Uuid.describe("Id of the integration"),
    installation_id: z
      .number()
      .int()
      .describe("Id of the GitHub App's installation, or a number of Heddle's"),
    name: z.string().openapi({ description: "Name for display", example: "Acme on GitHub" }),
    api_url: z
      .string()
      .openapi({ description: "URL of the host's API", example: "https://api.github.com" }),
  })
  .openapi("GithubIntegration");
export type Integration = z.infer<typeof Integration>;

export const Repository = z
  .object({
    host_integration_id: Uuid.describe("Id of the integration"),
    id: z.number().int().describe("Id of the repository at its host"),
    name: z.string().openapi({ description: "Name of the repository", example: "support-agent" }),
    owner: z.string().openapi({ description: "Owner of the repository", example: "acme" }),
    url: z.string().openapi({
      description: "URL to clone from",
      example: "https://github.com/acme/support-agent",
    }),
    default_branch: z.string().nullable().describe("Default branch"),
  })
  .openapi("GithubRepository");
export type Repository = z.infer<typeof Repository>;
