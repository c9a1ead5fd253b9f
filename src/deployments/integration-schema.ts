import { z } from "@hono/zod-openapi";
import { HttpUrl, Uuid } from "../shared/schema.ts";

export const IntegrationCreateRequest = z
  .object({
    name: z.string().trim().min(1).max(100),
    token: z
      .string()
      .min(1)
      .max(4096)
      .regex(/^[\x21-\x7e]+$/, "must be printable ASCII")
      .openapi({
        description: "Sent to the repository host alone; never part of an answer.",
      }),
    api_url: HttpUrl.default("https://api.github.com").openapi({
      description: "Repositories must be on this host, or on it without api. before.",
    }),
  })
  .openapi("GithubIntegrationCreateRequest");
export type IntegrationCreateRequest = z.infer<typeof IntegrationCreateRequest>;

export const Integration = z
  .object({
    id: Uuid,
    installation_id: z.number().int(),
    name: z.string(),
    api_url: z.string(),
  })
  .openapi("GithubIntegration");
export type Integration = z.infer<typeof Integration>;
