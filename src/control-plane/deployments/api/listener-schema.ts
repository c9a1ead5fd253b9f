import { z } from "@hono/zod-openapi";
import {
  CreatedAt,
  list,
  namedObject,
  textField,
  UpdatedAt,
  Uuid,
} from "../../../shared/schema.ts";

const Namespace = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "must be a Kubernetes namespace");

const ComputeConfig = z.object({
  k8s_namespaces: list(Namespace).openapi({
    description: "Kubernetes namespaces",
    example: ["agents"],
  }),
});

export const ListenerCreateRequest = namedObject("ListenerCreateRequest", {
  compute_type: z.literal("k8s").describe("Kind of the cluster"),
  compute_id: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .openapi({ description: "Name of the cluster", example: "production" }),
  compute_config: ComputeConfig.describe("Configuration of the cluster"),
  version: z.string().max(100).nullish().describe("Version of the listener"),
});
export type ListenerCreateRequest = z.infer<typeof ListenerCreateRequest>;

export const ListenerPatchRequest = namedObject("ListenerPatchRequest", {
  compute_id: z
    .string()
    .nullish()
    .openapi({ description: "Name of the cluster", example: "production" }),
  compute_config: ComputeConfig.nullish().describe("Configuration of the cluster"),
  version: z.string().max(100).nullish().describe("Version of the listener"),
});
export type ListenerPatchRequest = z.infer<typeof ListenerPatchRequest>;

export const Listener = namedObject("Listener", {
  id: Uuid.describe("Id of the listener"),
  version: z.string().nullable().describe("Version of the listener"),
  compute_type: z.literal("k8s").describe("Kind of the cluster"),
  compute_id: textField("Name of the cluster", "production"),
  compute_config: ComputeConfig.describe("Configuration of the cluster"),
  created_at: CreatedAt,
  updated_at: UpdatedAt,
});
export type Listener = z.infer<typeof Listener>;

export const ListenersList = namedObject("ListenersList", {
  resources: z.array(Listener).describe("Listeners of the page"),
  offset: z.number().int().describe("`offset` of the next page"),
});
export type ListenersList = z.infer<typeof ListenersList>;

export const ListenerPath = z.object({ listener_id: Uuid.describe("Id of the listener") });
