import { z } from "@hono/zod-openapi";
import { list, Timestamp, Uuid } from "../shared/schema.ts";

const Namespace = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "must be a Kubernetes namespace");

const ComputeConfig = z.object({ k8s_namespaces: list(Namespace) });

export const ListenerCreateRequest = z
  .object({
    compute_type: z.literal("k8s"),
    compute_id: z.string().trim().min(1).max(200),
    compute_config: ComputeConfig,
    version: z.string().max(100).nullish(),
  })
  .openapi("ListenerCreateRequest");
export type ListenerCreateRequest = z.infer<typeof ListenerCreateRequest>;

export const ListenerPatchRequest = z
  .object({
    compute_id: z.string().nullish(),
    compute_config: ComputeConfig.nullish(),
    version: z.string().max(100).nullish(),
  })
  .openapi("ListenerPatchRequest");
export type ListenerPatchRequest = z.infer<typeof ListenerPatchRequest>;

export const Listener = z
  .object({
    id: Uuid,
    version: z.string().nullable(),
    compute_type: z.literal("k8s"),
    compute_id: z.string(),
    compute_config: ComputeConfig,
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .openapi("Listener");
export type Listener = z.infer<typeof Listener>;

export const ListenersList = z
  .object({ resources: z.array(Listener), offset: z.number().int() })
  .openapi("ListenersList");
export type ListenersList = z.infer<typeof ListenersList>;

export const ListenerPath = z.object({ listener_id: Uuid });
