import { z } from "@hono/zod-openapi";
import { list, numberOr, QueryBoolean, Timestamp } from "../shared/schema.ts";
import { MAX_LIMIT } from "./limits.ts";

const Loose = z.record(z.string(), z.unknown());
const Labels = list(z.string());

export const Item = z
  .object({
    namespace: z.array(z.string()),
    key: z.string(),
    value: Loose,
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .openapi("Item");

const SearchItem = Item.extend({
  score: z
    .number()
    .optional()
    .openapi({ description: "Nearness to the query, where there is one" }),
}).openapi("SearchItem");

const Limit = z.number().int().min(1).max(MAX_LIMIT);
const Offset = z.number().int().min(0);

export const PutItem = z
  .object({
    namespace: Labels.nullish().openapi({ example: ["users", "ada"] }),
    key: z.string().openapi({ example: "likes" }),
    value: Loose,
    index: z
      .union([z.literal(false), list(z.string())])
      .nullish()
      .openapi({ description: "Fields to find it by meaning; false: none; null: as configured" }),
    ttl: z
      .number()
      .positive()
      .nullish()
      .openapi({ description: "Minutes until it ends; null: never; absent: as configured" }),
  })
  .openapi("PutItem");
export type PutItem = z.infer<typeof PutItem>;

export const DeleteItem = z
  .object({ namespace: Labels.nullish().openapi({ example: ["users", "ada"] }), key: z.string() })
  .openapi("DeleteItem");
export type DeleteItem = z.infer<typeof DeleteItem>;

export const GetItemQuery = z.object({
  namespace: z.union([z.string(), z.array(z.string())]).optional(),
  key: z.string(),
  refresh_ttl: QueryBoolean.optional(),
});
export type GetItemQuery = z.infer<typeof GetItemQuery>;

export const SearchItems = z
  .object({
    namespace_prefix: Labels.nullish(),
    filter: Loose.nullish(),
    query: z.string().nullish(),
    limit: numberOr(10, Limit),
    offset: numberOr(0, Offset),
    refresh_ttl: z.boolean().nullish(),
  })
  .openapi("SearchItems");
export type SearchItems = z.infer<typeof SearchItems>;

export const FoundItems = z.object({ items: z.array(SearchItem) }).openapi("FoundItems");

export const ListNamespaces = z
  .object({
    prefix: Labels.nullish(),
    suffix: Labels.nullish(),
    max_depth: z.number().int().min(1).nullish(),
    limit: numberOr(100, Limit),
    offset: numberOr(0, Offset),
  })
  .openapi("ListNamespaces");
export type ListNamespaces = z.infer<typeof ListNamespaces>;

export const Namespaces = z
  .object({ namespaces: z.array(z.array(z.string())) })
  .openapi("Namespaces");

export const StorePath = z.object({ deployment_id: z.string().min(1).toLowerCase() });
