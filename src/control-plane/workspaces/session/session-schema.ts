import { z } from "@hono/zod-openapi";
import { namedObject, Timestamp, textField, Uuid } from "../../../shared/schema.ts";

const MAX_KEY = 200;

export const SessionCreateRequest = namedObject("SessionCreateRequest", {
  api_key: z
    .string()
    .trim()
    .min(1)
    .max(MAX_KEY)
    .openapi({ description: "An API key. It is not stored", example: "lsv2_sk_..." }),
});
export type SessionCreateRequest = z.infer<typeof SessionCreateRequest>;

export const Me = namedObject("Me", {
  actor: z
    .object({
      type: z.enum(["api_key", "user"]).describe("Kind of the principal"),
      id: textField("Id of the key or of the user", "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071"),
      name: textField("Email of the user, or the first characters of the key", "ada@example.com"),
    })
    .describe("The principal of the request"),
  organization: z
    .object({
      id: Uuid.describe("Id of the organization"),
      name: textField("Name of the organization", "Acme"),
      plan: z.enum(["developer", "plus", "enterprise"]).describe("Plan of the organization"),
    })
    .describe("The organization of the first workspace, or of the principal without any"),
  organizations: z
    .array(
      z.object({
        id: Uuid.describe("Id of the organization"),
        name: textField("Name of the organization", "Acme"),
      }),
    )
    .describe("Organizations of the principal: a person may be a member of several"),
  workspaces: z
    .array(
      z.object({
        id: Uuid.describe("Id of the workspace, for the `X-Tenant-Id` header"),
        name: textField("Name of the workspace", "production"),
        role: z
          .enum(["admin", "editor", "viewer"])
          .describe("Role of the principal in the workspace"),
      }),
    )
    .describe("Workspaces that the principal may enter, newest first, at most 1000"),
  region: z
    .string()
    .nullable()
    .openapi({ description: "Jurisdiction of the data, `null` without one", example: "eu" }),
  regions: z
    .array(
      z.object({
        name: textField("Name of the region", "us"),
        url: textField(
          "Origin of its service, which has other sessions and data",
          "https://us.heddle.example.com",
        ),
      }),
    )
    .describe("Regions of the installation, as its operator lists them"),
  examples_url: z.string().nullable().openapi({
    description:
      "URL of the folder with the git repositories of examples, such as `chat.git`. `null` where the operator offers none",
    example: null,
  }),
  version: textField("Version of the service", "0.1.0"),
  session_expires_at: Timestamp.nullable().describe(
    "When the session of the console ends, `null` for a request with a key or a bearer token",
  ),
});
export type Me = z.infer<typeof Me>;

export const SignInWays = namedObject("SignInWays", {
  issuer: z.string().nullable().openapi({
    description: "Host of the issuer that people sign in with, `null` when only keys are accepted",
    example: "login.example.com",
  }),
});
export type SignInWays = z.infer<typeof SignInWays>;

/** Reason why a sign-in with the issuer failed, for the sign-in page of the console. */
export type SignInProblem =
  | "not_configured"
  | "unavailable"
  | "expired"
  | "denied"
  | "no_workspace"
  | "unknown_user";

export const SignInQuery = z.object({
  to: z.string().max(2048).optional().openapi({
    description: "Page below `/console` to open after the sign-in",
    example: "/w/019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071/deployments",
  }),
});

export const IssuerReturn = z.object({
  code: z.string().max(8192).optional().describe("Code that is exchanged for the person"),
  state: z.string().max(512).optional().describe("State of this sign-in"),
  error: z.string().max(512).optional().describe("Reason of a refusal"),
});
