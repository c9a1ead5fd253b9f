import { z } from "@hono/zod-openapi";
import { HttpUrl, namedObject, textField, Uuid } from "../../../shared/schema.ts";

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
  .describe("A GitHub App. Its private key signs requests for tokens, each valid for an hour");

const Name = z.string().trim().min(1).max(100).openapi({
  description: "Name for display, unique in the workspace",
  example: "Acme on GitHub",
});
const Token = z
  .string()
  .min(1)
  .max(4096)
  .regex(/^[\x21-\x7e]+$/, "must be printable ASCII")
  .describe("Access token of the repository host. Excludes `app`. Never returned");

export const IntegrationCreateRequest = z
  .object({
    name: Name,
    token: Token.optional(),
    app: App.optional().describe("Credentials of a GitHub App. Excludes `token`"),
    api_url: HttpUrl.default("https://api.github.com").describe(
      "URL of the host's API. Repositories must be on this host, or on this host without `api.`",
    ),
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

export const Webhook = namedObject("Webhook", {
  url: textField(
    "URL for the host's push events",
    "https://heddle.example.com/webhooks/019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071",
  ),
  secret: textField("Secret that the host signs events with", "9f86d081884c7d65"),
});
export type Webhook = z.infer<typeof Webhook>;

export const WebhookAnswer = namedObject("WebhookAnswer", {
  revisions: z.array(Uuid).describe("Ids of the revisions that the push created"),
  detail: textField("Result of the event", "Building."),
});
export type WebhookAnswer = z.infer<typeof WebhookAnswer>;

export const Integration = namedObject("GithubIntegration", {
  id: Uuid.describe("Id of the integration"),
  installation_id: z
    .number()
    .int()
    .describe("Id of the GitHub App's installation, or for a token a number that Heddle assigned"),
  name: textField("Name for display", "Acme on GitHub"),
  api_url: textField("URL of the host's API", "https://api.github.com"),
});
export type Integration = z.infer<typeof Integration>;

export const Repository = namedObject("GithubRepository", {
  host_integration_id: Uuid.describe("Id of the integration"),
  id: z.number().int().describe("Id of the repository at its host"),
  name: textField("Name of the repository", "support-agent"),
  owner: textField("Owner of the repository", "acme"),
  url: textField("URL to clone from", "https://github.com/acme/support-agent"),
  default_branch: z.string().nullable().describe("Default branch"),
});
export type Repository = z.infer<typeof Repository>;
