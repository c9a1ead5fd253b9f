import { z } from "@hono/zod-openapi";
import { namedObject } from "../../shared/schema.ts";
import { AgentPath } from "../threads/contract/requests/schema.ts";

export const UiPath = AgentPath.extend({ agent: z.string().min(1).describe("Name of the graph") });
export const UiFilePath = UiPath.extend({ file: z.string().min(1).describe("Name of the file") });

export const UiRequest = namedObject("UiRequest", {
  name: z
    .string()
    .min(1)
    .max(255)
    .openapi({ description: "Name of the component", example: "weather" }),
});
