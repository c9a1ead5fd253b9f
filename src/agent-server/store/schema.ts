import { z } from "@hono/zod-openapi";
import {
  AnyObject,
  CreatedAt,
  list,
  namedObject,
  pageOfBody,
  QueryBoolean,
  textField,
  UpdatedAt,
} from "../../shared/schema.ts";
import { MAX_LIMIT } from "./storage/limits.ts";

const Labels = list(z.string());

export const Item = namedObject("Item", {
  namespace: z
    .array(z.string())
    .openapi({ description: "Namespace of the item", example: ["users", "ada"] }),
  key: textField("Key of the item", "likes"),
  value: AnyObject.openapi({ description: "Value of the item", example: { food: "pizza" } }),
  created_at: CreatedAt,
  updated_at: UpdatedAt,
});

const SearchItem = Item.extend({
  score: z
    .number()
    .optional()
    .describe("Similarity to `query`, absent in a search without an embedding"),
}).openapi("SearchItem");

export const PutItem = namedObject("PutItem", {
  namespace: Labels.nullish()
    .openapi({ example: ["users", "ada"] })
    .openapi({ description: "Namespace of the item", example: ["users", "ada"] }),
  key: z
    .string()
    .openapi({ example: "likes" })
    .openapi({ description: "Key of the item", example: "likes" }),
  value: AnyObject.openapi({ description: "Value of the item", example: { food: "pizza" } }),
  index: z
    .union([z.literal(false), list(z.string())])
    .nullish()
    .describe("Fields to index for similarity search. `false`: none. `null`: as configured"),
  ttl: z
    .number()
    .positive()
    .nullish()
    .describe("Minutes until the item expires. `null`: never. Absent: as configured"),
});
export type PutItem = z.infer<typeof PutItem>;

export const DeleteItem = namedObject("DeleteItem", {
  namespace: Labels.nullish()
    .openapi({ example: ["users", "ada"] })
    .openapi({ description: "Namespace of the item", example: ["users", "ada"] }),
  key: textField("Key of the item", "likes"),
});
export type DeleteItem = z.infer<typeof DeleteItem>;

export const GetItemQuery = z.object({
  namespace: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe("Labels of the namespace, with dots between or repeated"),
  key: textField("Key of the item", "likes"),
  refresh_ttl: QueryBoolean.optional().describe("Whether reading extends the retention"),
});
export type GetItemQuery = z.infer<typeof GetItemQuery>;

export const SearchItems = namedObject("SearchItems", {
  namespace_prefix: Labels.nullish().openapi({
    description: "First labels of the namespaces",
    example: ["users"],
  }),
  filter: AnyObject.nullish().describe("Fields of the value and their required values"),
  query: z.string().nullish().describe("Text to find similar items for"),
  ...pageOfBody("results", { max: MAX_LIMIT, standard: 10 }),
  refresh_ttl: z.boolean().nullish().describe("Whether reading extends the retention"),
});
export type SearchItems = z.infer<typeof SearchItems>;

export const FoundItems = namedObject("FoundItems", {
  items: z.array(SearchItem).describe("Items of the page"),
});

export const ListNamespaces = namedObject("ListNamespaces", {
  prefix: Labels.nullish().openapi({
    description: "First labels of the namespaces",
    example: ["users"],
  }),
  suffix: Labels.nullish().describe("Last labels of the namespaces"),
  max_depth: z
    .number()
    .int()
    .min(1)
    .nullish()
    .describe("Number of labels after which namespaces are cut"),
  ...pageOfBody("results", { max: MAX_LIMIT, standard: 100 }),
});
export type ListNamespaces = z.infer<typeof ListNamespaces>;

export const Namespaces = namedObject("Namespaces", {
  namespaces: z
    .array(z.array(z.string()))
    .openapi({ description: "Namespaces of the page", example: [["users", "ada"]] }),
});

export const StorePath = z.object({
  deployment_id: z
    .string()
    .min(1)
    .toLowerCase()
    .describe("Id or name of the deployment, with `@<revision id>` for one revision"),
});
